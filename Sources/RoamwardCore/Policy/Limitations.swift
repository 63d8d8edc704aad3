extension TunnelPolicy {
  /// Keys that this version accepts and does not support, for people.
  package var limitations: [String] {
    var words: [String] = []
    if case .service(let service) = provider, let limitation = service.limitation { words.append(limitation) }
    if proxy != nil { words.append("`proxy` is not acted on: this version does not set proxies") }
    let rules = onDemand.rules.filter { $0.action == .evaluateConnection }
    if onDemand.timing.idle != nil, !rules.contains(where: arms), !mayWatch {
      words.append("`idle` is not acted on: no look-up starts the tunnel")
    }
    return words
  }
}
