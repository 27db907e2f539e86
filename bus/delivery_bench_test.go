package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// BenchmarkEventDelivery measures the latency of an event from a worker to a client in streams
// that each send 10 events per second: on core NATS, stored in batches for a replay, as this
// package does; and by publishing each event to the replay stream, from which an ordered
// consumer reads it. An iteration is an event of every stream.
func BenchmarkEventDelivery(b *testing.B) {
	for _, streams := range []int{1, 100, 500} {
		for name, deliver := range map[string]func(*deliveries, *testing.B){"core": (*deliveries).core,
			"jetstream": (*deliveries).jetStream} {
			b.Run(fmt.Sprintf("%s/streams=%d", name, streams), func(b *testing.B) {
				d := &deliveries{streams: streams, start: make(chan struct{})}
				deliver(d, b)
				b.ReportMetric(float64(len(d.took))/time.Since(d.began).Seconds(), "events/s")
				slices.Sort(d.took)
				b.ReportMetric(float64(d.took[len(d.took)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(d.took[len(d.took)*99/100].Microseconds()), "p99-µs")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

const deliveryInterval = 100 * time.Millisecond

// deliveries are the measurements of one benchmark.
type deliveries struct {
	streams int
	start   chan struct{} // closed when all clients are connected
	began   time.Time
	mu      sync.Mutex
	took    []time.Duration
}

// send calls publish with the data of events at the interval.
func (d *deliveries) send(events, stream int, publish func(data schemas.TextDelta) error) (err error) {
	<-d.start
	time.Sleep(deliveryInterval * time.Duration(stream) / time.Duration(d.streams)) // spread
	tick := time.NewTicker(deliveryInterval)
	defer tick.Stop()
	for range events {
		<-tick.C
		err = errors.Join(err, publish(schemas.TextDelta{Text: strconv.FormatInt(time.Now().UnixNano(), 10)}))
	}
	return err
}

// received records the latency of an event.
func (d *deliveries) received(b *testing.B, data []byte) {
	now := time.Now().UnixNano()
	var event schemas.TextDelta
	if err := json.Unmarshal(data, &event); err != nil {
		b.Error(err)
	}
	sent, err := strconv.ParseInt(event.Text, 10, 64)
	if err != nil {
		b.Error(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.took = append(d.took, time.Duration(now-sent))
}

func (d *deliveries) core(b *testing.B) {
	server := bustest.Listen(b)
	client := bustest.DialURL(b, server.URL())
	setupReplay(b, client)
	started := make(chan int, d.streams)
	service := bustest.ServiceWithSlots(b, bustest.DialURL(b, server.URL()), "analyze", 4*d.streams)
	for i := range d.streams {
		started <- i
	}
	var connected, clients sync.WaitGroup
	connected.Add(d.streams)
	bustest.Must(b, bus.Analyze.Serve(service, func(_ context.Context, _ schemas.Analysis, sender bus.Sender) error {
		stream := <-started
		connected.Done()
		return d.send(b.N, stream, func(data schemas.TextDelta) error { return sender.Send(schemas.EventTextDelta, data) })
	}))
	for i := range d.streams {
		ctx := bus.WithIdentity(b.Context(),
			&schemas.Identity{ID: "a", Role: schemas.RoleAnalyst, Tenants: []string{fmt.Sprint(i % 50)}})
		clients.Go(func() {
			for e, err := range bus.Analyze.Run(ctx, client, bus.NewRun(), anything) {
				if err != nil {
					b.Error(err)
				} else if e.Type == schemas.EventTextDelta {
					d.received(b, e.Data)
				}
			}
		})
	}
	connected.Wait()
	d.began = time.Now()
	close(d.start)
	clients.Wait()
}

func (d *deliveries) jetStream(b *testing.B) {
	server := bustest.Listen(b)
	client, worker := bustest.DialURL(b, server.URL()), bustest.DialURL(b, server.URL())
	setupReplay(b, client)
	js, err := jetstream.New(worker.JetStream().Conn(), jetstream.WithPublishAsyncMaxPending(1<<16))
	bustest.Must(b, err)
	var clients sync.WaitGroup
	for i := range d.streams {
		subject := bus.Analyze.Subject + "." + bus.NewRun() + ".replay"
		consumer, err := client.JetStream().OrderedConsumer(b.Context(), bus.Analyze.ReplayStream(),
			jetstream.OrderedConsumerConfig{
				FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 1,
			})
		bustest.Must(b, err)
		messages, err := consumer.Messages()
		bustest.Must(b, err)
		clients.Go(func() {
			defer messages.Stop()
			for range b.N {
				msg, err := messages.Next()
				if err != nil {
					b.Error(err)
					return
				}
				d.received(b, msg.Data())
			}
		})
		clients.Go(func() {
			n := 0
			err := d.send(b.N, i, func(data schemas.TextDelta) error {
				body, err := json.Marshal(data)
				if err != nil {
					return err
				}
				n++
				_, err = js.PublishMsgAsync(&nats.Msg{Subject: subject, Data: body}, jetstream.WithMsgID(subject+strconv.Itoa(n)))
				return err
			})
			if err != nil {
				b.Error(err)
			}
		})
	}
	d.began = time.Now()
	close(d.start)
	clients.Wait()
}
