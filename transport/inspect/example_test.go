package inspect_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/inspect"
)

// The page of a client, at a path of the program's own server. It answers this machine only,
// unless Allow says otherwise.
func ExampleHandler() {
	client := new(http.Client) // that does the program's work

	page := &inspect.Handler{Accounts: new(quota.Accounts)}
	client.Transport = &transport.Shaper{Accounts: page.Accounts, Trace: page.Trace()}
	http.Handle("/debug/headway/", page)

	srv := httptest.NewServer(http.DefaultServeMux)
	defer srv.Close()
	resp, err := http.Get(srv.URL + "/debug/headway/")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, resp.Header.Get("Content-Type"))
	// Output:
	// 200 text/html; charset=utf-8
}
