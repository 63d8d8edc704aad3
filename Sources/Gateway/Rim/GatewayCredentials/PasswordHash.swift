internal import CSodium

/// Password hashes by libsodium (Argon2id): texts that name their parameters.
package struct PasswordHash: Sendable {
  package let operations: UInt64
  /// In bytes.
  package let memory: Int

  /// libsodium's parameters for logins: 64 MiB, about 70 ms of a processor.
  package static let usual = PasswordHash(
    operations: UInt64(crypto_pwhash_opslimit_interactive()), memory: Int(crypto_pwhash_memlimit_interactive()))
  /// The least that libsodium accepts: for tests alone.
  package static let cheapest = PasswordHash(
    operations: UInt64(crypto_pwhash_opslimit_min()), memory: Int(crypto_pwhash_memlimit_min()))

  private init(operations: UInt64, memory: Int) {
    _ = sodium_init()
    self.operations = operations
    self.memory = memory
  }

  /// The hash of a password with a random salt; `nil` without the memory for it.
  package func hash(_ password: [UInt8]) -> String? {
    var text = [CChar](repeating: 0, count: Int(crypto_pwhash_strbytes()))
    let characters = password.map { CChar(bitPattern: $0) }
    let result = crypto_pwhash_str_alg(
      &text, characters, UInt64(characters.count), operations, memory, crypto_pwhash_alg_argon2id13())
    guard result == 0 else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Whether the password is the hash's. Anything that is no hash belongs to no password.
  package static func verify(_ password: [UInt8], _ hash: String) -> Bool {
    _ = sodium_init()
    guard hash.utf8.count < Int(crypto_pwhash_strbytes()) else { return false }
    let characters = password.map { CChar(bitPattern: $0) }
    return crypto_pwhash_str_verify(hash, characters, UInt64(characters.count)) == 0
  }

  /// Whether the hash has other parameters than these: it is made again when the password is known.
  package func isOutdated(_ hash: String) -> Bool { crypto_pwhash_str_needs_rehash(hash, operations, memory) != 0 }
}

/// Judges passwords in the same time whether or not a name has one: without a hash, it verifies against one that no password has.
package struct PasswordJudge: Sendable {
  private let dummy: String

  /// The dummy has the parameters of real hashes; `nil` without the memory for one.
  package init?(_ parameters: PasswordHash) {
    var random = [UInt8](repeating: 0, count: 32)
    randombytes_buf(&random, random.count)
    guard let dummy = parameters.hash(random) else { return nil }
    self.dummy = dummy
  }

  /// `hash`: `nil` or empty if there is none.
  package func isRight(_ password: [UInt8], _ hash: String?) -> Bool {
    let hash = hash ?? ""
    let isRight = PasswordHash.verify(password, hash.isEmpty ? dummy : hash)
    return isRight && !hash.isEmpty
  }
}
