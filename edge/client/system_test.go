package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/edge"
	"cairn/services"
)

// address is the URL of a Cairn in this process.
var address string

func TestMain(m *testing.M) {
	code, err := withCairn(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withCairn calls do while a Cairn serves in this process.
func withCairn(do func() int) (code int, err error) {
	nats, err := bustest.UnusedAddress()
	if err != nil {
		return 0, err
	}
	server, err := natsserver.Start("", nats)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	conn, err := server.Open("client-test")
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	config := services.Defaults()
	config.Log, config.Model = slog.New(slog.DiscardHandler), "offline:"
	if err := services.Setup(context.Background(), conn, conn, config); err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address = "http://" + listener.Addr().String()
	serving, stopEdge := context.WithCancel(context.Background())
	working, stopServices := context.WithCancel(context.Background())
	var edges errgroup.Group
	workers, failed := errgroup.WithContext(context.Background())
	defer func() {
		stopEdge()
		edgeErr := edges.Wait()
		stopServices()
		err = errors.Join(err, edgeErr, workers.Wait())
	}()
	up := make(chan struct{})
	workers.Go(func() error { return services.Run(working, conn, config, func() { close(up) }) })
	select {
	case <-up:
	case <-failed.Done():
		return 0, errors.New("services ended before they served")
	}
	edges.Go(func() error {
		return edge.Serve(serving,
			edge.Config{Listener: listener, Conn: conn, Log: slog.New(slog.DiscardHandler), Drain: 10 * time.Second})
	})
	return do(), nil
}
