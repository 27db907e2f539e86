// Package client is the Go client of Cairn's HTTP API; the command line uses it too.
//
//	c, err := client.New(client.Config{URL: "http://127.0.0.1:8080", Key: key})
//	record, err := c.Get(ctx, schemas.RecordKey{Kind: schemas.KindSkill, ID: "storage.volume_capacity"})
//
// A Client may be used concurrently and needs no closing.
//
//   - Errors of Cairn are *schemas.Error and match their declarations:
//     errors.Is(err, schemas.ErrRecordNotFound). A response that is not Cairn's is a
//     *StatusError, a failed connection a *TransportError.
//   - A read includes every earlier write of the same Client: it sends the highest
//     consistency token that it has received.
//   - Requests that an overloaded server refuses, and idempotent ones whose connection is
//     lost, are retried with exponential backoff until Config.RetryTimeout. The retries of
//     all requests together are limited, so that a Client does not prolong an overload.
//   - A Run resumes its event stream after a lost connection.
//   - If Config.URL names several edges, a request whose connection fails is sent to each other edge
//     once, immediately; later requests continue there. A request that an edge may have received is
//     repeated only if it is idempotent: reads, deletions, and registrations without a precondition.
//     A tag, an analysis, and a conditional write are not, unless the edge refused the connection.
package client
