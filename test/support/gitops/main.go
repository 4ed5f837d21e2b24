// Judges objects as tools of others do. Standard input: one JSON object per line. Standard output: per line
// {"kstatus":{"status","message"},"argo":{"status","message"}}. Argument: a file with the Lua health check for Argo CD.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	script, err := os.ReadFile(os.Args[1])
	fail(err)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var object map[string]any
		fail(json.Unmarshal(lines.Bytes(), &object))
		found, err := status.Compute(&unstructured.Unstructured{Object: whole(object).(map[string]any)})
		fail(err)
		answer, err := json.Marshal(map[string]verdict{
			"kstatus": {string(found.Status), found.Message},
			"argo":    health(string(script), object),
		})
		fail(err)
		fmt.Println(string(answer))
	}
	fail(lines.Err())
}

// JSON numbers as Kubernetes' own decoder gives them.
func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = whole(inner)
		}
	case []any:
		for index, inner := range value {
			value[index] = whole(inner)
		}
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}

// As Argo CD does it: the global obj, and a table that the script returns. No library is opened, as there by default.
func health(script string, object map[string]any) verdict {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		fail(state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)))
	}
	state.SetGlobal("obj", tableOf(state, object))
	fail(state.DoString(script))
	table, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		fail(fmt.Errorf("the health check returns no table"))
	}
	return verdict{lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message"))}
}

func tableOf(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, inner := range value {
			table.RawSetString(key, tableOf(state, inner))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, inner := range value {
			table.Append(tableOf(state, inner))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	}
	return lua.LNil
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "gitops:", err)
		os.Exit(1)
	}
}
