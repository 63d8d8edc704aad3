extension KernelState {
  /// The links that a dead agent had noted and left without the alias that marks them as ours.
  ///
  /// The note is written before the link is made, so by itself it proves nothing: another program may have made a link of that name since.
  /// But there is no other step between making the link and setting the alias, so a link of ours is still unchanged.
  package func unfinished(among noted: Set<String>) -> Set<String> {
    if noted.isEmpty { return [] }
    let used = Set(addresses.map(\.link))
    return Set(links.lazy.filter { noted.contains($0.name) && $0.isAsMade && !used.contains($0.name) }.map(\.name))
  }
}

extension Link {
  fileprivate var isAsMade: Bool {
    (["wireguard", "tun"].contains(kind) || leadsNowhere) && (alias ?? "").isEmpty && !isUp && master == nil
  }
}
