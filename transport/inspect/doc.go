// Package inspect serves a page that shows what a Shaper knows and does: for each
// origin and quota, what is left, which requests wait, for what and for how long, what was
// learned of the server, and what happened last.
//
//	page := &inspect.Handler{Accounts: new(quota.Accounts)}
//	shaper := &transport.Shaper{Accounts: page.Accounts, Trace: page.Trace()}
//	http.Handle("/debug/headway/", page)
//
// Importing the package registers nothing: a program mounts the Handler where it wants
// to have it. The page needs no other files, loads nothing from elsewhere, and works
// without JavaScript. It only reads.
//
// Unless Handler.Allow says otherwise, the page is for the machine that the program
// runs on. It shows neither credentials nor URLs nor the values of fields; partition
// keys and the names of scopes are shown as eight digits of a keyed hash; and the name
// of a policy is shown if it consists of ordinary words, and otherwise as a hash.
package inspect
