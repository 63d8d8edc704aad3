extension KernelState {
  /// Of the links whose making a dead agent had noted, those that it left without the alias that says whose they are.
  ///
  /// The note is written before the link is made, so by itself it proves nothing: somebody else may have made a link of that name since.
  /// But between the making and the alias there is no other step, so a link of ours still is as it was made.
  package func unfinished(among noted: Set<String>) -> Set<String> {
    if noted.isEmpty { return [] }
    let used = Set(addresses.map(\.link))
    return Set(links.lazy.filter { noted.contains($0.name) && $0.isAsMade && !used.contains($0.name) }.map(\.name))
  }
}

extension Link {
  fileprivate var isAsMade: Bool { (kind == "wireguard" || kind == "tun") && (alias ?? "").isEmpty && !isUp && master == nil }
}
