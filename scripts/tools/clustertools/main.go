// Clustertools is CoreDNS and Helm in one file: `clustertools coredns ARGS`, `clustertools helm ARGS`, or a link with
// one of these names. A module of their own, because they want other versions of etcd's libraries than Kubernetes.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coredns/coredns/coremain"
	// What a cluster's resolver needs of the fifty; a name that a Corefile uses and that is not here is a parse error.
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
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
