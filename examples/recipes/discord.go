package recipes

import (
	"net/http"

	"github.com/bwmarrin/discordgo"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Discord returns a session for Discord's REST API. discordgo's own limiter stays: it lets
// one request at a time go to each route. It knows nothing of the limit on all requests of a
// bot, of which Discord says nothing until it refuses: 50 a second, a limit of the client's
// own.
func Discord(token string, base http.RoundTripper) (*discordgo.Session, error) {
	session, err := discordgo.New("Bot " + token)
	if err != nil {
		return nil, err
	}
	session.Client = &http.Client{Transport: &transport.Shaper{
		Base:   base,
		Limits: quota.Always[*http.Request](quota.PerSecond(50, 40, quota.Options{Name: "all requests"})),
	}}
	return session, nil
}
