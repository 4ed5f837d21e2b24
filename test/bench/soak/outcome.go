package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// outcome is the result of a soak.
type outcome struct {
	count *tally
	// Recoveries are seconds from the end of a stopped process to the first stream afterwards.
	Recoveries []float64 `json:"recoveries"`
	// Before and After are the proxy and the target at rest, before and after the calm quarter.
	Before []state `json:"before"`
	After  []state `json:"after"`
	// Forgotten are backend connections that stayed open after their consumers had ended.
	Forgotten int `json:"forgotten"`
	// Misbehaved are processes that did not end as they should.
	Misbehaved []string `json:"misbehaved"`
}

// print writes the report, and the same as JSON when file is not empty; false when anything is wrong.
func (result *outcome) print(file string) bool {
	count, totals := result.count, result.count.counts
	leaks, stuck := 0, 0
	for index := range result.After {
		stuck += result.After[index].Streams
		leaks += max(0, leaked(result.Before[index], result.After[index]))
	}
	fmt.Printf("%-52s %d\n", "streams", count.streams.Load())
	fmt.Printf("%-52s %.2f GB\n", "bytes compared", float64(count.compared.Load())/1e9)
	fmt.Printf("%-52s %d\n", "restarts", len(result.Recoveries))
	if len(result.Recoveries) > 0 {
		sorted := slices.Sorted(slices.Values(result.Recoveries))
		fmt.Printf("%-52s %.2f s, at most %.2f s\n", "until a new stream passed, median", sorted[len(sorted)/2], sorted[len(sorted)-1])
	}
	fmt.Printf("%-52s %d\n", "new connections refused while an end restarted", totals.RefusedInRestart)
	fmt.Printf("%-52s %d\n", "streams broken visibly while an end restarted", totals.BrokenInRestart)
	fmt.Printf("%-52s %d\n", "ended early but cleanly while an end was killed", totals.CutByKill)
	for index, name := range []string{"proxy", "target"} {
		before, after := result.Before[index], result.After[index]
		fmt.Printf("%-52s %.1f -> %.1f MiB\n", "RssAnon of the "+name+" at rest, calm quarter", mebibytes(before), mebibytes(after))
	}
	bad := []struct {
		name  string
		count int
	}{
		{"mismatches", totals.Mismatches},
		{"delivered twice", totals.Twice},
		{"lost after a close", totals.Lost},
		{"hung", totals.Hung},
		{"failed while nothing restarted", totals.FailedAtRest},
		{"leaked descriptors", leaks},
		{"streams that a process never ended", stuck},
		{"backend connections never ended", result.Forgotten},
		{"processes that did not end as they should", len(result.Misbehaved)},
	}
	wrong := 0
	for _, line := range bad {
		fmt.Printf("%-52s %d (must be 0)\n", line.name, line.count)
		wrong += line.count
	}
	for _, text := range result.Misbehaved {
		fmt.Println(text)
	}
	result.write(file, leaks, stuck)
	return wrong == 0
}

func (result *outcome) write(file string, leaks, stuck int) {
	if file == "" {
		return
	}
	text, err := json.MarshalIndent(struct {
		Streams  int64 `json:"streams"`
		Compared int64 `json:"comparedBytes"`
		Leaks    int   `json:"leakedDescriptors"`
		Stuck    int   `json:"stuckStreams"`
		counts
		*outcome
	}{result.count.streams.Load(), result.count.compared.Load(), leaks, stuck, result.count.counts, result}, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
}

func mebibytes(seen state) float64 { return float64(seen.RssAnon) / (1 << 20) }
