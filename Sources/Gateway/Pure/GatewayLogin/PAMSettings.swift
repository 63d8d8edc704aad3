package import GatewayCore

/// The settings of password checks by a PAM service, from the file `pam` of the gateway's folder: a key and its value on each line.
package struct PAMSettings: Hashable, Sendable {
  /// The name of a file in /etc/pam.d.
  package var service: String
  /// Whether a user who does not exist is added at the first login.
  package var createsUsers = false
  /// The time in seconds that a check may take until its next question, or its end.
  package var seconds = 15

  /// The range of `seconds`. The client of a login waits for 20 seconds.
  package static let secondsRange = 1...15

  package init(service: String) { self.service = service }

  package var text: String { "service \(service)\ncreate-users \(createsUsers ? "yes" : "no")\ntimeout \(seconds)\n" }

  /// Throws what is wrong, with the line.
  package init(parsing text: String) throws(GatewayError) {
    self.init(service: "")
    for (number, line) in zip(1..., text.split(separator: "\n", omittingEmptySubsequences: false)) {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard let key = parts.first, key.first != "#" else { continue }
      let value = parts.count > 1 ? String(parts[1]) : ""
      switch key {
      case "service": service = value
      case "create-users" where value == "yes" || value == "no": createsUsers = value == "yes"
      case "timeout" where Int(value) != nil: seconds = Int(value) ?? seconds
      default:
        throw GatewayError(
          "pam, line \(number): `\(line)` is no setting", help: "roamward-gateway set logins.pam.service NAME writes the file")
      }
    }
    if let fault { throw fault }
  }

  /// The first problem of the values; `nil`: none.
  package var fault: GatewayError? {
    guard Self.isService(service) else {
      return GatewayError("pam: `\(service)` cannot be the name of a service", help: "use the name of a file in /etc/pam.d")
    }
    guard Self.secondsRange.contains(seconds) else {
      return GatewayError(
        "pam: a check cannot take \(seconds) s", help: "use \(Self.secondsRange.lowerBound) to \(Self.secondsRange.upperBound) s")
    }
    return nil
  }

  /// PAM reads names in lower case, and would take a slash as the path of another folder.
  package static func isService(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count) && name.first != "."
      && name.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || "._-".utf8.contains($0) }
  }

  /// The subject of a person whose password this service checks: it links the person to the user's row.
  package func subject(of name: GatewayName) -> String { "pam \(service) \(name)" }
}
