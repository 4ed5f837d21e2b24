{{/* One scrape endpoint. Takes (dict "monitor" VALUES "port" NAME). */}}
{{- define "netaminity.scrape" -}}
- port: {{ .port }}
  path: /metrics
  {{- with .monitor.interval }}
  interval: {{ . | quote }}
  {{- end }}
  {{- with .monitor.scrapeTimeout }}
  scrapeTimeout: {{ . | quote }}
  {{- end }}
  {{- with .monitor.relabelings }}
  relabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .monitor.metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
