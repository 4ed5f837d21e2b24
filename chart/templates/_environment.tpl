{{/* Settings of `netaminity operator`, as its environment. */}}
{{- define "netaminity.environment" -}}
- name: NETAMINITY_LOG_LEVEL
  value: {{ .Values.config.logLevel }}
- name: NETAMINITY_LOG_FORMAT
  value: {{ .Values.config.logFormat }}
- name: NETAMINITY_WORKERS
  value: {{ .Values.config.workers | quote }}
- name: NETAMINITY_AGENT_IMAGE
  value: {{ include "netaminity.image" (dict "image" .Values.agent.image "chart" .Chart) }}
- name: NETAMINITY_AGENT_IMAGE_PULL_POLICY
  value: {{ .Values.agent.image.pullPolicy }}
{{- with .Values.config.proxyHost }}
- name: NETAMINITY_PROXY_HOST
  value: {{ . | quote }}
{{- end }}
{{- with .Values.config.watchNamespaces }}
- name: NETAMINITY_NAMESPACE
  value: {{ join "," . }}
{{- end }}
- name: NETAMINITY_LEASE_NAME
  value: {{ include "netaminity.fullname" . }}
- name: NETAMINITY_POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: NETAMINITY_POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}
