// Package tokens estimates what a request to a language model costs in tokens, without a
// tokenizer, and learns from the server's figures what the server really charges.
//
// [Scan] reads the JSON body of a request: the model, the text, and how many tokens the
// model may generate. A [Learner] belongs to one quota of one model. It turns a [Request]
// into an estimate, and compares the estimates with what the server's figures have fallen
// by:
//
//   - Servers that reserve the longest possible answer when a request arrives are
//     charged input + output. That is what a Learner assumes at first.
//   - Where the figures fall by less, a request costs its input and what answers were
//     seen to cost.
//   - A figure that falls by more than estimated, or a refusal that the estimates did not
//     predict, leads back to the first assumption.
//
// A token is taken to be 4 bytes of text. For prose in most languages this is right within
// 20 %; numbers and JSON have about twice as many tokens. Where the figures fall by more than
// input + output, the text is taken for so many more tokens; also where a request is refused
// although that much was left.
//
// The package knows nothing of HTTP, and has no clock.
package tokens
