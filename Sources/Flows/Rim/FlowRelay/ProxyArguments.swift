package import NetworkTypes

/// The addresses that a proxy listens at, from the arguments of its program.
package struct ProxyArguments: Sendable {
  /// The address without an argument.
  package static let usual = "127.0.0.1:1080"
  /// The word by which a proxy listens at an address that is no loopback address.
  package static let beyond = "--beyond-loopback"

  /// The word by which a proxy opens flows that no tunnel carries.
  package static let withoutRoute = "--any-route"

  /// An argument that is wrong, with the cure.
  package struct Mistake: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
  }

  /// Each is an address of this machine.
  package let places: [(address: IPAddress, port: UInt16)]
  /// Whether flows are opened only on a route of the process's own.
  package let needsRoute: Bool

  package init(_ words: some Collection<String>) throws(Mistake) {
    var found: [(address: IPAddress, port: UInt16)] = []
    needsRoute = !words.contains(Self.withoutRoute)
    let isBeyond = words.contains(Self.beyond)
    for word in words where ![Self.beyond, Self.withoutRoute].contains(word) {
      guard !word.hasPrefix("-") else { throw Mistake(description: "\(word): there is no such option; see --help") }
      guard let endpoint = Endpoint(word), let address = endpoint.address else {
        throw Mistake(description: "\(word) is no address with a port: write it as 127.0.0.1:1080 or [::1]:1080")
      }
      guard address.isLoopback || isBeyond else {
        throw Mistake(
          description: "\(word) is no loopback address: everyone who reaches it could use this proxy; \(Self.beyond) allows that")
      }
      found.append((address, endpoint.port))
    }
    if found.isEmpty, let endpoint = Endpoint(Self.usual), let address = endpoint.address { found = [(address, endpoint.port)] }
    places = found
  }
}
