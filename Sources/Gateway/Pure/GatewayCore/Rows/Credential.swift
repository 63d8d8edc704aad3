package import NetworkTypes

/// The password, one-time codes and recovery codes of a user.
package struct Credential: Row {
  package var id: Int64
  package var user: Int64
  /// The hash of the password with its parameters, as libsodium writes it (Argon2id); empty: there is no password.
  package var password: String
  /// Whether the user has to choose a new password at the next login.
  package var mustChange: Bool
  /// The secret of one-time codes (RFC 6238), 16 bytes at least; empty: none are asked for.
  package var codeSecret: [UInt8]
  /// The time step of the last accepted code: an earlier one, or itself, is not accepted again.
  package var codeStep: Int64
  /// The recovery codes that are left, each for one login instead of a one-time code: SHA-256 in hexadecimal digits.
  package var recoveryHashes: [String]

  package init(
    id: Int64, user: Int64, password: String = "", mustChange: Bool = false, codeSecret: [UInt8] = [], codeStep: Int64 = 0,
    recoveryHashes: [String] = []
  ) {
    self.id = id
    self.user = user
    self.password = password
    self.mustChange = mustChange
    self.codeSecret = codeSecret
    self.codeStep = codeStep
    self.recoveryHashes = recoveryHashes
  }

  package static let table = TableDeclaration(
    name: "credentials", columns: ["user_id", "password", "must_change", "code_secret", "code_step", "recovery"])
  package var values: [SQLValue] {
    [
      .integer(user), .text(password), SQLValue(mustChange), .bytes(codeSecret), .integer(codeStep),
      recoveryHashes.isEmpty ? .null : SQLValue(list: recoveryHashes),
    ]
  }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let (user, password, mustChange) = (row.integer(), row.text(), row.flag())
    let (secret, step) = (row.bytes(), row.integer())
    let hashes = row.optionalText()?.split(separator: ",").map(String.init) ?? []
    guard row.isValid, secret.isEmpty || secret.count >= 16, hashes.allSatisfy({ $0.utf8.count == 64 && $0.allSatisfy(\.isHexDigit) })
    else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, user: user, password: password, mustChange: mustChange, codeSecret: secret, codeStep: step, recoveryHashes: hashes)
  }
}

/// A token that stands for a user's first factors. Only its hash is kept.
package struct EnrolmentToken: Row {
  package var id: Int64
  package var user: Int64
  /// SHA-256 of the token.
  package var hash: [UInt8]
  /// The logins that are left.
  package var uses: Int64
  /// The moment of its end.
  package var until: Timestamp

  package init(id: Int64, user: Int64, hash: [UInt8], uses: Int64, until: Timestamp) {
    self.id = id
    self.user = user
    self.hash = hash
    self.uses = uses
    self.until = until
  }

  package func isValid(at now: Timestamp) -> Bool { uses > 0 && now < until }

  package static let table = TableDeclaration(name: "tokens", columns: ["user_id", "hash", "uses", "until"])
  package var values: [SQLValue] { [.integer(user), .bytes(hash), .integer(uses), SQLValue(until)] }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let (user, hash, uses, until) = (row.integer(), row.bytes(), row.integer(), row.time())
    guard row.isValid, hash.count == 32 else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, user: user, hash: hash, uses: uses, until: until)
  }
}

/// The login that bound a device's key. A stock client's device has none.
package struct Login: Row {
  package var id: Int64
  package var device: Int64
  /// The moment of the login.
  package var proven: Timestamp
  /// The methods, such as `password,code`.
  package var factors: String
  /// The address of the client.
  package var source: String
  /// When an administrator ended the session: the key is refused until the device logs in again. `nil`: it goes on.
  package var ended: Timestamp?

  package init(id: Int64, device: Int64, proven: Timestamp, factors: String, source: String, ended: Timestamp? = nil) {
    self.id = id
    self.device = device
    self.proven = proven
    self.factors = factors
    self.source = source
    self.ended = ended
  }

  package static let table = TableDeclaration(name: "logins", columns: ["device_id", "proven", "factors", "source", "ended"])
  package var values: [SQLValue] { [.integer(device), SQLValue(proven), .text(factors), .text(source), SQLValue(ended)] }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let (device, proven, factors, source) = (row.integer(), row.time(), row.text(), row.text())
    let ended = row.optionalTime()
    guard row.isValid else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, device: device, proven: proven, factors: factors, source: source, ended: ended)
  }
}
