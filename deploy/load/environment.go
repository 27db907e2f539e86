package load

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
)

// Environment is where a measurement was made.
type Environment struct {
	URL      string            `json:"url"`
	Version  string            `json:"version"`            // of the service
	Backends map[string]string `json:"backends,omitempty"` // of the service
	Client   string            `json:"client"`             // version of who measured
	System   string            `json:"system"`             // of the client, as are the following
	CPUs     int               `json:"cpus"`
	// Load is the load average of a minute before the measurement began: how
	// busy the machine was with other things; absent where nobody says.
	Load *float64 `json:"load,omitzero"`
}

// Here is the environment as far as this machine tells it.
func Here() Environment {
	e := Environment{System: runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version(), CPUs: runtime.NumCPU()}
	text, _ := os.ReadFile("/proc/loadavg") // absent on other systems
	if fields := bytes.Fields(text); len(fields) > 0 {
		if load, err := strconv.ParseFloat(string(fields[0]), 64); err == nil {
			e.Load = &load
		}
	}
	return e
}
