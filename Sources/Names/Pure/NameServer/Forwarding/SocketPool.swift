package import NetworkTypes

/// Bound sockets to one set of name servers, by their numbers in the program. Each question goes out of a random one.
package struct SocketPool: Equatable, Sendable {
  package var v4: [UInt16]
  package var v6: [UInt16]

  package init(v4: [UInt16] = [], v6: [UInt16] = []) {
    self.v4 = v4
    self.v6 = v6
  }

  package subscript(family: IPAddress.Family) -> [UInt16] {
    get { family == .v4 ? v4 : v6 }
    set { if family == .v4 { v4 = newValue } else { v6 = newValue } }
  }
}
