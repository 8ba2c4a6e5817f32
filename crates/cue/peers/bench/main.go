// Measures Go's cue library on a directory of programs: NAME.cue, with the values of NAME.json put in at top-level names.
//
// Prints a line per program: name, nanoseconds to compile, nanoseconds to put the values in and export, and the export.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// How long each measurement takes at least.
const patience = 700 * time.Millisecond

func main() {
	programs, err := filepath.Glob(filepath.Join(os.Args[1], "*.cue"))
	check(err)
	sort.Strings(programs)
	for _, program := range programs {
		text, err := os.ReadFile(program)
		check(err)
		raw, err := os.ReadFile(strings.TrimSuffix(program, ".cue") + ".json")
		check(err)
		var values map[string]any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		// Without, every number would be a float.
		decoder.UseNumber()
		check(decoder.Decode(&values))
		for name, value := range values {
			values[name] = plain(value)
		}
		names := make([]string, 0, len(values))
		for name := range values {
			names = append(names, name)
		}
		sort.Strings(names)

		compiling := fast(func() { compile(cuecontext.New(), text) })
		compiled := compile(cuecontext.New(), text)
		rendering := fast(func() { render(compiled, names, values) })
		name := strings.TrimSuffix(filepath.Base(program), ".cue")
		fmt.Printf("%s\t%d\t%d\t%s\n", name, compiling, rendering, render(compiled, names, values))
	}
}

func compile(context *cue.Context, text []byte) cue.Value {
	value := context.CompileBytes(text)
	check(value.Err())
	return value
}

func render(value cue.Value, names []string, values map[string]any) []byte {
	for _, name := range names {
		value = value.FillPath(cue.ParsePath(name), values[name])
	}
	exported, err := value.MarshalJSON()
	check(err)
	return exported
}

// The same value with integers as integers.
func plain(value any) any {
	switch value := value.(type) {
	case json.Number:
		integer, err := value.Int64()
		check(err)
		return integer
	case []any:
		for index := range value {
			value[index] = plain(value[index])
		}
	case map[string]any:
		for name := range value {
			value[name] = plain(value[name])
		}
	}
	return value
}

// The time that one in ten runs stays below: what other programs of the machine take is left out.
func fast(work func()) int64 {
	work()
	var taken []int64
	for start := time.Now(); time.Since(start) < patience || len(taken) < 5; {
		before := time.Now()
		work()
		taken = append(taken, time.Since(before).Nanoseconds())
	}
	sort.Slice(taken, func(left, right int) bool { return taken[left] < taken[right] })
	return taken[len(taken)/10]
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
