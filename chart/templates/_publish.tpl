{{/* Labels by which the pods of the optional role are found. */}}
{{- define "netaminity.publish.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: publish
{{- end }}

{{/* Labels of an object of the optional role. Takes what "netaminity.labels" takes. */}}
{{- define "netaminity.publish.labels" -}}
{{- toYaml (mergeOverwrite (include "netaminity.labels" . | fromYaml) (dict "app.kubernetes.io/component" "publish")) -}}
{{- end }}

{{- define "netaminity.publish.name" -}}
{{- printf "%s-publish" (include "netaminity.fullname" .) -}}
{{- end }}

{{/* Metadata of an object of the optional role in the release's namespace. Takes (dict "root" . "name" NAME). */}}
{{- define "netaminity.publish.metadata" -}}
name: {{ .name | quote }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- include "netaminity.publish.labels" (dict "root" .root) | nindent 2 }}
{{- end }}

{{- define "netaminity.publish.output" -}}
{{- printf "%s-netsody" (include "netaminity.fullname" .) -}}
{{- end }}

{{/* Says what is missing, by name. */}}
{{- define "netaminity.publish.validate" -}}
{{- with .Values.publish -}}
{{- if not .provider -}}
{{- fail "publish.enabled: publish.provider is missing; accepted: netmaker or netsody" -}}
{{- end -}}
{{- if not .existingSecret -}}
{{- fail "publish.enabled: publish.existingSecret is missing: the name of a Secret with username and password, or token (netmaker), or with password (netsody)" -}}
{{- end -}}
{{- if and (eq .provider "netmaker") (not .netmaker.url) -}}
{{- fail "publish.provider netmaker: publish.netmaker.url is missing, such as https://api.netmaker.example.com" -}}
{{- end -}}
{{- if and (eq .provider "netsody") (not .netsody.base.name) -}}
{{- fail "publish.provider netsody: publish.netsody.base.name is missing: the ConfigMap or Secret with the network" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Settings of `netaminity publish`, as its environment. */}}
{{- define "netaminity.publish.environment" -}}
{{- $publish := .Values.publish -}}
- name: NETAMINITY_LOG_LEVEL
  value: {{ .Values.config.logLevel | quote }}
- name: NETAMINITY_LOG_FORMAT
  value: {{ .Values.config.logFormat | quote }}
- name: NETAMINITY_PROVIDER
  value: {{ $publish.provider | quote }}
- name: NETAMINITY_INTERVAL
  value: {{ $publish.interval | quote }}
- name: NETAMINITY_DRY_RUN
  value: {{ $publish.dryRun | quote }}
- name: NETAMINITY_LEASE_NAME
  value: {{ include "netaminity.publish.name" . | quote }}
{{- if eq $publish.provider "netmaker" }}
- name: NETAMINITY_NETMAKER_API_URL
  value: {{ $publish.netmaker.url | quote }}
- name: NETAMINITY_NETMAKER_CREDENTIALS
  value: /var/run/secrets/mesh
- name: NETAMINITY_ADOPT_KAPUT_NOT
  value: {{ $publish.adoptKaputNot | quote }}
{{- with $publish.clusterName }}
- name: NETAMINITY_CLUSTER_NAME
  value: {{ . | quote }}
{{- end }}
{{- if $publish.netmaker.caSecret }}
- name: NETAMINITY_NETMAKER_CA_FILE
  value: /var/run/secrets/mesh-ca/ca.crt
{{- end }}
{{- else }}
- name: NETAMINITY_NETSODY_BASE
  value: /etc/netaminity/network.toml
- name: NETAMINITY_NETSODY_OUTPUT
  value: {{ printf "%s/%s" (lower $publish.netsody.outputKind) (include "netaminity.publish.output" .) | quote }}
- name: NETAMINITY_NETSODY_TABLE
  value: {{ $publish.netsody.table | quote }}
- name: NETAMINITY_NETSODY_GROUPS
  value: {{ join "," $publish.netsody.groups | quote }}
- name: NETAMINITY_NETSODY_NETWORK
  value: {{ $publish.netsody.network | quote }}
- name: NETAMINITY_NETSODY_USERNAME
  value: {{ $publish.netsody.username | quote }}
- name: NETAMINITY_NETSODY_PASSWORD_FILE
  value: /var/run/secrets/mesh/password
{{- end }}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}
