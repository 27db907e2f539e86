// Sonicpeer checks the text of a file with sonic.Valid once for each line of its input.
// For each check it prints the time in milliseconds, and 0.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"github.com/bytedance/sonic"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		began := time.Now()
		if !sonic.Valid(text) {
			fmt.Fprintln(os.Stderr, "not valid")
			os.Exit(1)
		}
		fmt.Println(float64(time.Since(began).Nanoseconds())/1e6, 0)
	}
}
