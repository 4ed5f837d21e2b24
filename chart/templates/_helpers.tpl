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

{{- define "netaminity.ownLabels" -}}
{{ include "netaminity.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end }}

{{/*
Labels of an object, each key once: the user's own win, those of this object over those of all. Takes (dict "root" . "labels" MAP "of" NAME);
the last two are for labels that a value of that name adds.
*/}}
{{- define "netaminity.labels" -}}
{{- $fixed := concat (include "netaminity.selectorLabels" .root | fromYaml | keys) (list "app.kubernetes.io/managed-by") -}}
{{- $common := .root.Values.commonLabels -}}
{{- $added := .labels | default dict -}}
{{- range $name, $labels := dict "commonLabels" $common (.of | default "labels") $added -}}
{{- range $key := $fixed -}}
{{- if hasKey $labels $key -}}
{{- fail (printf "%s: the label %s cannot be replaced: Helm or a selector finds the objects by it" $name $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml (mergeOverwrite (include "netaminity.ownLabels" .root | fromYaml) $common $added) -}}
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

{{/* Metadata of an object, without the namespace. Takes (dict "root" . "suffix" "-leader"), and labels as above. */}}
{{- define "netaminity.metadata" -}}
name: {{ printf "%s%s" (include "netaminity.fullname" .root) .suffix | quote }}
labels:
  {{- include "netaminity.labels" . | nindent 2 }}
{{- end }}
