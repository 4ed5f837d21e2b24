{{/* Settings of `netaminity operator`, as its environment. */}}
{{- define "netaminity.environment" -}}
- name: NETAMINITY_LOG_LEVEL
  value: {{ .Values.config.logLevel | quote }}
- name: NETAMINITY_LOG_FORMAT
  value: {{ .Values.config.logFormat | quote }}
{{- with .Values.config.agent.logLevel }}
- name: NETAMINITY_AGENT_LOG_LEVEL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.config.agent.logFormat }}
- name: NETAMINITY_AGENT_LOG_FORMAT
  value: {{ . | quote }}
{{- end }}
{{- with .Values.config.podTemplate }}
- name: NETAMINITY_AGENT_POD_TEMPLATE
  value: {{ toRawJson . | quote }}
{{- end }}
{{- with .Values.config.networkPolicy.from }}
- name: NETAMINITY_AGENT_NETWORK_POLICY
  value: {{ dict "from" . | toRawJson | quote }}
{{- end }}
- name: NETAMINITY_MAX_ROLLOUTS
  value: {{ .Values.config.maxRollouts | toString | quote }}
- name: NETAMINITY_WORKERS
  value: {{ .Values.config.workers | quote }}
- name: NETAMINITY_AGENT_IMAGE
  value: {{ include "netaminity.image" (dict "image" .Values.agent.image "chart" .Chart) | quote }}
- name: NETAMINITY_AGENT_IMAGE_PULL_POLICY
  value: {{ .Values.agent.image.pullPolicy | quote }}
- name: NETAMINITY_DRAIN_TIMEOUT
  value: {{ .Values.agent.drainTimeout | quote }}
{{- with .Values.agent.imagePullSecrets }}
- name: NETAMINITY_AGENT_IMAGE_PULL_SECRETS
  value: "{{ range $index, $secret := . }}{{ if $index }},{{ end }}{{ $secret.name }}{{ end }}"
{{- end }}
{{- with .Values.config.proxyHost }}
- name: NETAMINITY_PROXY_HOST
  value: {{ . | quote }}
{{- end }}
{{- with .Values.config.watchNamespaces }}
- name: NETAMINITY_NAMESPACE
  value: {{ join "," . | quote }}
{{- end }}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}

{{/* The same with `operator.extraEnv`, which wins: a variable may stand in the list once. */}}
{{- define "netaminity.environmentWith" -}}
{{- $extra := .Values.operator.extraEnv -}}
{{- $names := dict -}}
{{- range $extra -}}
{{- if hasKey $names .name -}}
{{- fail (printf "operator.extraEnv: %s stands there twice" .name) -}}
{{- end -}}
{{- $_ := set $names .name true -}}
{{- end -}}
{{- $own := list -}}
{{- range include "netaminity.environment" . | fromYamlArray -}}
{{- if not (hasKey $names .name) -}}
{{- $own = append $own . -}}
{{- end -}}
{{- end -}}
{{- toYaml (concat $own $extra) -}}
{{- end }}
