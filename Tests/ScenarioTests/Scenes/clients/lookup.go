// Looks a name up by Go's own resolver (built without cgo). Prints the first address, or the failure.
//
// lookup NAME
package main

import (
	"fmt"
	"net"
	"os"
)

func main() {
	addresses, err := net.LookupHost(os.Args[1])
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println(addresses[0])
}
