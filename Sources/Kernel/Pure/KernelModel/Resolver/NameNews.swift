package import NetworkTypes

/// An answer for a name that a policy routes, before a program has it.
package struct RoutedAnswer: Equatable, Sendable {
  package var name: String
  /// Those of the A and AAAA records of the name, or of the name that its aliases lead to.
  package var addresses: [IPAddress]
  /// The time for which a program may keep the answer.
  package var lifetime: Duration

  package init(name: String, addresses: [IPAddress], lifetime: Duration) {
    self.name = name
    self.addresses = addresses
    self.lifetime = lifetime
  }
}

/// An address that a routed name has in common with another one, whose packets take the same way.
package struct SharedAddress: Hashable, Sendable {
  package var address: IPAddress
  package var name: String
  package var other: String

  package init(address: IPAddress, name: String, other: String) {
    self.address = address
    self.name = name
    self.other = other
  }
}

/// A report of our own name server about answers.
package enum NameNews {
  /// Answers were withheld.
  case withheld(WithheldAnswers)
  /// An answer waits until its addresses are routed. `done`: whether they are; otherwise the program gets a failure.
  case answered(RoutedAnswer, done: (Bool) -> Void)
  case shared(SharedAddress)
}
