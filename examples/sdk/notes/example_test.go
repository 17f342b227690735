package notes_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/headway-go/headway/examples/sdk/notes"
	"github.com/headway-go/headway/transport/transporttest"
)

// A test of a program that uses package notes needs neither the API nor waiting.
func Example() {
	api := &transporttest.API{
		Policies: []transporttest.Policy{
			{Name: "calls", Quota: 1, Window: time.Hour, PartitionBy: []string{"user_id"}},
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"id": 1, "text": "buy milk"}`)
		}),
	}
	client := notes.New("https://notes.example", notes.Options{
		HTTPClient: &http.Client{Transport: &transporttest.Transport{Handler: api}},
	})

	ctx := context.Background()
	note, err := client.As("alice").Create(ctx, "buy milk")
	fmt.Println(note.ID, err)

	_, err = client.As("alice").Get(ctx, note.ID)
	var limited *notes.RateLimitError
	if errors.As(err, &limited) {
		fmt.Println("retry in", limited.RetryAfter.Round(time.Minute))
	}
	// Output:
	// 1 <nil>
	// retry in 1h0m0s
}
