// Clustertools is CoreDNS and Helm in one file: `clustertools coredns ARGS`, `clustertools helm ARGS`, or a link with
// one of these names. A module of their own, because they want other versions of etcd's libraries than Kubernetes.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/coredns/coredns/core/plugin"
	"github.com/coredns/coredns/coremain"
	helm "helm.sh/helm/v4/pkg/cmd"
)

func main() {
	tools := map[string]func(){"coredns": coremain.Run, "helm": runHelm}
	name := filepath.Base(os.Args[0])
	if tools[name] == nil && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	tool, known := tools[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: clustertools coredns|helm ARGS")
		os.Exit(2)
	}
	tool()
}

func runHelm() {
	command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	// The command prints its own errors.
	if err := command.Execute(); err != nil {
		var coded helm.CommandError
		if errors.As(err, &coded) {
			os.Exit(coded.ExitCode)
		}
		os.Exit(1)
	}
}
