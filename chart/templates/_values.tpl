{{/*
Puts the default wherever a value is absent: a block that was written empty or null, or an older release's values
(`--reuse-values`). Helm itself has taken away what was null. A map that users fill as they like stays away, since
null is how they take its default away. Changes .Values, so every template begins with it.
*/}}
{{- define "netaminity.complete" -}}
{{- $file := .Files.Get "files/defaults.yaml" | fromYaml -}}
{{- include "netaminity.fill" (dict "values" .Values "defaults" $file.values "maps" $file.maps "path" "") -}}
{{- end }}

{{- define "netaminity.fill" -}}
{{- $all := . -}}
{{- range $name, $default := .defaults -}}
{{- $path := printf "%s%s" $all.path $name -}}
{{- $value := index $all.values $name -}}
{{- if has $path $all.maps -}}
{{- else if and (kindIs "map" $value) (kindIs "map" $default) -}}
{{- include "netaminity.fill" (dict "values" $value "defaults" $default "maps" $all.maps "path" (printf "%s." $path)) -}}
{{- else if kindIs "invalid" $value -}}
{{- $_ := set $all.values $name $default -}}
{{- end -}}
{{- end -}}
{{- end }}
