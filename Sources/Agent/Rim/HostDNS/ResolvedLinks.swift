internal import Glibc
internal import KernelModel
internal import NetworkTypes

/// Links as systemd-resolved and this agent know them, by interface index.
struct ResolvedLinks {
  /// The names of the links whose settings are read.
  private(set) var watched: [UInt32: String] = [:]
  /// The settings that the service had when it was read last.
  private(set) var settings: [UInt32: LinkResolver] = [:]
  /// Links that this agent has configured.
  private(set) var touched: Set<UInt32> = []
  /// Links of any program that claim every name (`~.`).
  var claimants: Set<UInt32> = []

  /// The last known settings, by the link's name.
  var known: [String: LinkResolver] {
    Dictionary(settings.compactMap { index, resolver in watched[index].map { ($0, resolver) } }) { first, _ in first }
  }

  /// The names of the links that this agent has configured.
  var touchedNames: Set<String> { Set(touched.compactMap { watched[$0] }) }

  /// The names of other links that claim every name.
  var rivalNames: [String] {
    claimants.subtracting(watched.keys).sorted().compactMap { index in
      var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
      return if_indextoname(index, &name).map { String(cString: $0) }
    }
  }

  /// Watches these links and no others. Returns whether there is one that was not watched before.
  mutating func watch(_ links: [UInt32: String]) -> Bool {
    let isMore = !Set(links.keys).isSubset(of: watched.keys)
    watched = links
    settings = settings.filter { links[$0.key] != nil }
    touched.formIntersection(links.keys)
    return isMore
  }

  /// Records that this agent configures the link.
  mutating func touch(_ index: UInt32, _ name: String) {
    touched.insert(index)
    watched[index] = name
  }

  /// Records that the link's settings are reverted.
  mutating func forget(_ index: UInt32) { touched.remove(index) }

  /// Takes the settings that were read. Returns whether they differ from the known ones.
  mutating func take(_ found: [UInt32: LinkResolver]) -> Bool {
    defer { settings = found }
    return found != settings
  }
}
