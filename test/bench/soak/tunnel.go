package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	readyDeadline = 60 * time.Second
	// drainTimeout of both ends: some running streams are cut by it, others end before.
	drainTimeout = 2 * time.Second
)

// end is one of the two processes of the tunnel.
type end struct {
	name    string
	command []string
	health  string
	log     *os.File
	process *exec.Cmd
	exited  chan error
}

// tunnel is a proxy and a target of the compiled executable, on fixed addresses so that either can be restarted.
type tunnel struct {
	consumers string
	ends      []*end
}

func newTunnel(executable, address, backend, folder string) (*tunnel, error) {
	ports := make([]string, 4)
	for index := range ports {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			return nil, err
		}
		// Open until all four are known, so that they differ.
		defer listener.Close()
		ports[index] = listener.Addr().String()
	}
	drain := []string{"--drain-timeout", drainTimeout.String()}
	proxy := append([]string{executable, "proxy", "--listen", ports[0], "--consumer-listen", ports[1], "--health-listen", ports[2]}, drain...)
	target := append([]string{executable, "target", "--proxy-endpoint", ports[0], "--endpoint", backend, "--health-listen", ports[3]}, drain...)
	made := &tunnel{consumers: ports[1], ends: []*end{
		{name: "proxy", command: proxy, health: ports[2]},
		{name: "target", command: target, health: ports[3]},
	}}
	for _, one := range made.ends {
		var err error
		if one.log, err = os.Create(filepath.Join(folder, "soak-"+one.name+".log")); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (one *end) start() error {
	one.process = exec.Command(one.command[0], one.command[1:]...)
	one.process.Env = append(os.Environ(), "NETAMINITY_SECRET=soak-soak-soak-soak")
	one.process.Stdout, one.process.Stderr = one.log, one.log
	one.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := one.process.Start(); err != nil {
		return err
	}
	one.exited = make(chan error, 1)
	process, exited := one.process, one.exited
	go func() { exited <- process.Wait() }()
	return nil
}

// stop signals the process and waits until it is gone. SIGTERM must lead to exit code 0 soon after the drain timeout.
func (one *end) stop(signal syscall.Signal) error {
	if err := one.process.Process.Signal(signal); err != nil {
		return fmt.Errorf("%s: %w", one.name, err)
	}
	select {
	case err := <-one.exited:
		if signal == syscall.SIGTERM && err != nil {
			return fmt.Errorf("%s after SIGTERM: %w", one.name, err)
		}
		return nil
	case <-time.After(drainTimeout + 5*time.Second):
		_ = one.process.Process.Kill()
		<-one.exited
		return fmt.Errorf("%s did not end %v after %v", one.name, drainTimeout+5*time.Second, signal)
	}
}

// untilReady waits until the backend's greeting reaches a consumer.
func (made *tunnel) untilReady() error {
	var last error
	for deadline := time.Now().Add(readyDeadline); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		connection, err := net.DialTimeout("tcp", made.consumers, time.Second)
		if last = err; err != nil {
			continue
		}
		_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
		last = receiveGreeting(connection.(*net.TCPConn))
		_ = connection.Close()
		if last == nil {
			return nil
		}
	}
	return fmt.Errorf("no stream within %v: %w", readyDeadline, last)
}

// state is what an end holds at rest.
type state struct {
	Descriptors int `json:"descriptors"`
	// Pooled are idle connections kept ready, Streams those that the process believes to be running.
	Pooled  int   `json:"pooled"`
	Streams int   `json:"streams"`
	RssAnon int64 `json:"rssAnon"`
}

var (
	pooledLine  = regexp.MustCompile(`(?m)^netaminity_pool_idle(?:\{[^}]*\})? (\d+)`)
	streamsLine = regexp.MustCompile(`(?m)^netaminity_streams_open (\d+)`)
	rssAnonLine = regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB`)
)

func (one *end) look() (state, error) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + one.health + "/metrics")
	if err != nil {
		return state{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return state{}, err
	}
	var seen state
	for _, match := range pooledLine.FindAllStringSubmatch(string(text), -1) {
		number, _ := strconv.Atoi(match[1])
		seen.Pooled += number
	}
	match := streamsLine.FindSubmatch(text)
	if match == nil {
		return state{}, errors.New("no netaminity_streams_open in the metrics")
	}
	seen.Streams, _ = strconv.Atoi(string(match[1]))
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", one.process.Process.Pid))
	if err != nil {
		return state{}, err
	}
	seen.Descriptors = len(entries)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", one.process.Process.Pid))
	if err != nil {
		return state{}, err
	}
	if match := rssAnonLine.FindStringSubmatch(string(status)); match != nil {
		kibibytes, _ := strconv.ParseInt(match[1], 10, 64)
		seen.RssAnon = kibibytes << 10
	}
	return seen, nil
}

// leaked is how many descriptors an end holds beyond what it held before, apart from connections kept ready.
func leaked(before, after state) int {
	return (after.Descriptors - after.Pooled) - (before.Descriptors - before.Pooled)
}

func (made *tunnel) String() string {
	names := make([]string, len(made.ends))
	for index, one := range made.ends {
		names[index] = fmt.Sprintf("%s %d", one.name, one.process.Process.Pid)
	}
	return strings.Join(names, ", ")
}
