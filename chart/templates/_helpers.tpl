{{/* Name of the release's objects, at most 53 characters so that suffixes fit. */}}
{{- define "netaminity.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* Labels that never change in the life of a release: a Deployment's selector is immutable. */}}
{{- define "netaminity.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "netaminity.labels" -}}
{{ include "netaminity.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "netaminity.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "netaminity.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end }}

{{/* Reference of an image. Takes (dict "image" IMAGE "chart" .Chart). */}}
{{- define "netaminity.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{/* Metadata of an object, without the namespace. Takes (dict "root" . "suffix" "-leader"). */}}
{{- define "netaminity.metadata" -}}
name: {{ printf "%s%s" (include "netaminity.fullname" .root) .suffix | quote }}
labels:
  {{- include "netaminity.labels" .root | nindent 2 }}
{{- end }}
