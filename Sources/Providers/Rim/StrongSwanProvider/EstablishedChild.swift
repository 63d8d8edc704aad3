package import NetworkTypes
package import VICI

/// A tunnel (child SA) that is up, or down, as the event `child-updown` tells it.
package struct EstablishedChild: Equatable, Sendable {
  package var isUp: Bool
  package var server: IPAddress?
  /// The addresses that the server has given.
  package var addresses: [InterfaceAddress] = []
  /// The prefixes whose packets go into the tunnel: the server's traffic selectors.
  package var routes: [IPPrefix] = []
  /// Selectors that are no prefix, or of one protocol: no route can be one.
  package var unreadable: [String] = []

  /// Of the tunnel of this name alone.
  package init?(_ event: VICIMessage, name: String) {
    guard let tunnel = event.section(name) else { return nil }
    isUp = event.text("up") == "yes"
    server = tunnel.text("remote-host").flatMap { IPAddress($0) }
    addresses = tunnel.texts("local-vips").prefix(16).compactMap { text in
      IPAddress(text).flatMap { InterfaceAddress("\($0)/\($0.family == .v4 ? 32 : 128)") }
    }
    for (_, child) in tunnel.section("child-sas")?.sections ?? [] where child.text("name") == name {
      for text in child.texts("remote-ts").prefix(1024) {
        if let prefix = IPPrefix(text) { routes.append(prefix) } else { unreadable.append(text) }
      }
    }
  }
}
