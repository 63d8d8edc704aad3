extension TunnelPolicy {
  /// Keys that this version accepts and does not support, for people.
  package var limitations: [String] {
    var words: [String] = []
    if proxy != nil { words.append("`proxy` is not acted on: this version does not set proxies") }
    if onDemand.timing.idle != nil { words.append("`idle` is not acted on: this version does not stop tunnels that are idle") }
    return words
  }
}
