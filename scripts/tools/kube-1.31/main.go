// Kube is the oldest Kubernetes that the chart supports in one file, as ../kube is the newest: `kube kubelet ARGS` runs the
// program of that name, and so does a link named like it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func programs() map[string]func() {
	return map[string]func(){
		"etcd":                    func() { etcdmain.Main(os.Args) },
		"kube-apiserver":          runCommand(apiserver.NewAPIServerCommand),
		"kube-controller-manager": runCommand(controllermanager.NewControllerManagerCommand),
		"kube-scheduler":          runCommand(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
		"kube-proxy":              runCommand(proxy.NewProxyCommand),
		"kubelet":                 runCommand(newKubelet),
		"kubectl":                 runCommand(kubectl.NewDefaultKubectlCommand),
	}
}

func main() {
	known := programs()
	name := filepath.Base(os.Args[0])
	if known[name] == nil && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	program, ok := known[name]
	if !ok {
		names := []string{}
		for name := range known {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: kube PROGRAM ARGS, where PROGRAM is one of %v\n", names)
		os.Exit(2)
	}
	program()
}

// Building a command has side effects on shared flags, so only the one that runs is built.
func runCommand(build func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(build())) }
}

func newKubelet() *cobra.Command {
	return kubelet.NewKubeletCommand()
}
