package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const controlPort = ":8090"

// consumer does what the test asks for over HTTP: single connections, and loads that run until they are stopped.
type consumer struct {
	mutex sync.Mutex
	loads map[string]*load
	made  int
}

func runConsumer() error {
	all := &consumer{loads: map[string]*load{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /connections", all.connect)
	mux.HandleFunc("POST /requests", all.request)
	mux.HandleFunc("POST /loads", all.start)
	mux.HandleFunc("GET /loads/{id}", all.read)
	mux.HandleFunc("DELETE /loads/{id}", all.stop)
	return http.ListenAndServe(controlPort, mux)
}

type connectionOrder struct {
	Address string `json:"address"`
	Bytes   int    `json:"bytes"`
	Timeout int64  `json:"timeout"`
}

// connect makes one connection and answers with its event.
func (all *consumer) connect(answer http.ResponseWriter, request *http.Request) {
	order := connectionOrder{Bytes: 1024, Timeout: 5000}
	if !decode(answer, request, &order) {
		return
	}
	reply(answer, attempt(order.Address, order.Bytes, milliseconds(order.Timeout)))
}

type httpOrder struct {
	Method  string `json:"method"`
	URL     string `json:"url"`
	Body    string `json:"body"`
	Timeout int64  `json:"timeout"`
}

// request makes one HTTP request and answers with `{status, body}` or `{error}`.
func (all *consumer) request(answer http.ResponseWriter, request *http.Request) {
	order := httpOrder{Method: "GET", Timeout: 5000}
	if !decode(answer, request, &order) {
		return
	}
	client := http.Client{Timeout: milliseconds(order.Timeout), Transport: &http.Transport{DisableKeepAlives: true}}
	made, err := http.NewRequest(order.Method, order.URL, stringReader(order.Body))
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	response, err := client.Do(made)
	if err != nil {
		reply(answer, map[string]any{"error": err.Error()})
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		reply(answer, map[string]any{"error": err.Error()})
		return
	}
	reply(answer, map[string]any{"status": response.StatusCode, "body": string(body)})
}

func (all *consumer) start(answer http.ResponseWriter, request *http.Request) {
	order := loadOrder{Interval: 50, Streams: 4, Attempt: 5000, Stall: 15000}
	if !decode(answer, request, &order) {
		return
	}
	all.mutex.Lock()
	defer all.mutex.Unlock()
	all.made++
	id := strconv.Itoa(all.made)
	all.loads[id] = startLoad(order)
	reply(answer, map[string]string{"id": id})
}

// read answers with the load's events from number `from` on, as JSON lines, and its state as the last one.
func (all *consumer) read(answer http.ResponseWriter, request *http.Request) {
	running, err := all.find(request)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusNotFound)
		return
	}
	from, _ := strconv.Atoi(request.URL.Query().Get("from"))
	running.write(answer, from)
}

// stop ends the load, waits for its connections, and answers as read does.
func (all *consumer) stop(answer http.ResponseWriter, request *http.Request) {
	running, err := all.find(request)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusNotFound)
		return
	}
	running.stop()
	all.read(answer, request)
	all.mutex.Lock()
	defer all.mutex.Unlock()
	delete(all.loads, request.PathValue("id"))
}

func (all *consumer) find(request *http.Request) (*load, error) {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	found := all.loads[request.PathValue("id")]
	if found == nil {
		return nil, fmt.Errorf("no load %q", request.PathValue("id"))
	}
	return found, nil
}

func decode(answer http.ResponseWriter, request *http.Request, into any) bool {
	decoder := json.NewDecoder(request.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err != nil && !errors.Is(err, io.EOF) {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func reply(answer http.ResponseWriter, value any) {
	answer.Header().Set("content-type", "application/json")
	_ = json.NewEncoder(answer).Encode(value)
}

func milliseconds(count int64) time.Duration {
	return time.Duration(count) * time.Millisecond
}
