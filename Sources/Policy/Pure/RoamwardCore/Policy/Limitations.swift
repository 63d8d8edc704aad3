extension TunnelPolicy {
  /// Keys that this version accepts and does not support, for people.
  package var limitations: [String] {
    if case .service(let service) = provider, let limitation = service.limitation { return [limitation] + unsupportedKeys }
    return unsupportedKeys
  }

  /// The same without what a service sets by itself.
  package var unsupportedKeys: [String] {
    var words: [String] = []
    if let proxy, proxy.publish.isEmpty { words.append("`proxy` is not acted on: it has no `publish`, so no program is given the proxies") }
    if let proxy, proxy.pac != nil, linkName == nil {
      words.append("`pac` is not acted on: the tunnel names no `interface` by which the script could be fetched")
    }
    let rules = onDemand.rules.filter { $0.action == .evaluateConnection }
    if onDemand.timing.idle != nil, !rules.contains(where: arms), !mayWatch {
      words.append("`idle` is not acted on: no look-up starts the tunnel")
    }
    return words
  }
}
