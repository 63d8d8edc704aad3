internal import CSodium
internal import GatewayCore
internal import Glibc
internal import LinuxIO

/// The encryption of a backup by a passphrase: Argon2id makes the key, and libsodium's secretstream (XChaCha20-Poly1305) the chunks. A
/// stream that was cut, reordered or altered is refused.
struct BackupSeal {
  /// Of Argon2id.
  var operations: UInt32
  /// Of Argon2id, in KiB.
  var memory: UInt32
  /// Of Argon2id, 16 bytes.
  var salt: [UInt8]

  static let magic = Array("roamward-gateway sealed backup 1\n".utf8)
  /// Bytes of a chunk before encryption; the last one may have fewer.
  static let chunk = 65_536
  /// The bounds of costs that a file may ask for: 1 GiB and 16 passes, which take half a minute.
  private static let operationLimit: ClosedRange<UInt32> = 1...16
  private static let memoryLimit: ClosedRange<UInt32> = 8...1_048_576

  /// Costs for a new backup: 256 MiB, a second of a processor.
  static let usual = (
    operations: UInt32(crypto_pwhash_opslimit_moderate()), memory: UInt32(crypto_pwhash_memlimit_moderate() / 1024)
  )

  init(operations: UInt32, memory: UInt32) {
    _ = sodium_init()
    (self.operations, self.memory) = (operations, memory)
    salt = [UInt8](repeating: 0, count: Int(crypto_pwhash_saltbytes()))
    randombytes_buf(&salt, salt.count)
  }

  /// Reads the bytes after the magic.
  init(_ bytes: [UInt8]) throws(GatewayError) {
    _ = sodium_init()
    func number(_ start: Int) -> UInt32 { bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    (operations, memory) = (number(0), number(4))
    salt = Array(bytes[8...])
    guard Self.operationLimit.contains(operations), Self.memoryLimit.contains(memory) else {
      throw BackupManifest.damaged("it asks for more work than any backup")
    }
  }

  /// The length of its bytes after the magic.
  static var size: Int { 8 + Int(crypto_pwhash_saltbytes()) }

  var bytes: [UInt8] {
    func four(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
    return Self.magic + four(operations) + four(memory) + salt
  }

  func key(_ passphrase: [UInt8]) throws(GatewayError) -> [UInt8] {
    var key = [UInt8](repeating: 0, count: Int(crypto_secretstream_xchacha20poly1305_keybytes()))
    let characters = passphrase.map { CChar(bitPattern: $0) }
    let result = crypto_pwhash(
      &key, UInt64(key.count), characters, UInt64(characters.count), salt, UInt64(operations), Int(memory) * 1024,
      crypto_pwhash_alg_argon2id13())
    guard result == 0 else {
      throw GatewayError("there is not enough memory for the key of the backup (\(memory / 1024) MiB)", help: "free memory, then try again")
    }
    return key
  }
}

/// The bytes of a new backup on their way into its file.
final class BackupWriter {
  private let file: FileDescriptor
  /// `nil`: the backup is not encrypted.
  private var state: crypto_secretstream_xchacha20poly1305_state?
  private var rest: [UInt8] = []

  init(_ file: FileDescriptor, _ passphrase: [UInt8]?, cost: (operations: UInt32, memory: UInt32) = BackupSeal.usual) throws {
    self.file = file
    guard let passphrase else { return }
    let seal = BackupSeal(operations: cost.operations, memory: cost.memory)
    var key = try seal.key(passphrase)
    defer { sodium_memzero(&key, key.count) }
    var state = crypto_secretstream_xchacha20poly1305_state()
    var header = [UInt8](repeating: 0, count: Int(crypto_secretstream_xchacha20poly1305_headerbytes()))
    crypto_secretstream_xchacha20poly1305_init_push(&state, &header, key)
    self.state = state
    try file.writeAll(seal.bytes + header)
  }

  func write(_ bytes: some Sequence<UInt8>) throws(SystemError) {
    rest += bytes
    while rest.count > BackupSeal.chunk {
      try put(Array(rest.prefix(BackupSeal.chunk)), isLast: false)
      rest.removeFirst(BackupSeal.chunk)
    }
  }

  /// Ends the stream; nothing is written afterwards.
  func finish() throws(SystemError) {
    try put(rest, isLast: true)
    rest = []
  }

  private func put(_ bytes: [UInt8], isLast: Bool) throws(SystemError) {
    guard var state else { return try file.writeAll(bytes) }
    var sealed = [UInt8](repeating: 0, count: bytes.count + Int(crypto_secretstream_xchacha20poly1305_abytes()))
    let tag = isLast ? crypto_secretstream_xchacha20poly1305_tag_final() : crypto_secretstream_xchacha20poly1305_tag_message()
    crypto_secretstream_xchacha20poly1305_push(&state, &sealed, nil, bytes, UInt64(bytes.count), nil, 0, tag)
    self.state = state
    try file.writeAll(sealed)
  }
}

/// The bytes of a backup as they were before encryption.
final class BackupReader {
  private let file: FileDescriptor
  private var state: crypto_secretstream_xchacha20poly1305_state?
  /// Of the file, not decrypted yet.
  private var raw: [UInt8] = []
  /// Decrypted, and not taken yet; the place of the next byte in it.
  private var ready: [UInt8] = []
  private var place = 0
  private var isFinal = false

  /// Opens a backup. `passphrase` is asked for if the backup is encrypted.
  init(_ path: String, passphrase: () throws -> [UInt8]) throws {
    let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { throw SystemError.last("open \(path)") }
    file = FileDescriptor(owning: number)
    let header = Int(crypto_secretstream_xchacha20poly1305_headerbytes())
    try fill(BackupSeal.magic.count)
    guard raw == BackupSeal.magic else { return }
    raw = []
    try fill(BackupSeal.size + header)
    guard raw.count == BackupSeal.size + header else { throw Self.cut }
    var key = try BackupSeal(Array(raw.prefix(BackupSeal.size))).key(passphrase())
    defer { sodium_memzero(&key, key.count) }
    var state = crypto_secretstream_xchacha20poly1305_state()
    guard crypto_secretstream_xchacha20poly1305_init_pull(&state, Array(raw.suffix(header)), key) == 0 else {
      throw BackupManifest.damaged("its beginning is none")
    }
    self.state = state
    raw = []
    // The first chunk shows whether the passphrase is right.
    do { _ = try next() } catch {
      throw GatewayError("the passphrase is wrong, or the backup is damaged", help: "try another passphrase, or another copy of the backup")
    }
  }

  private static let cut = BackupManifest.damaged("it ends too early")

  /// Reads from the file until so many raw bytes are there, or it ends.
  private func fill(_ count: Int) throws(SystemError) {
    while raw.count < count, let part = try file.read(atMost: count - raw.count), !part.isEmpty { raw += part }
  }

  /// Makes the next bytes ready, if none are. False: the end.
  private func next() throws -> Bool {
    if place < ready.count { return true }
    place = 0
    let extra = state == nil ? 0 : Int(crypto_secretstream_xchacha20poly1305_abytes())
    try fill(BackupSeal.chunk + extra)
    defer { raw = [] }
    guard var state else {
      ready = raw
      return !ready.isEmpty
    }
    if isFinal {
      guard raw.isEmpty else { throw BackupManifest.damaged("something follows its end") }
      ready = []
      return false
    }
    guard raw.count >= extra else { throw Self.cut }
    var tag: UInt8 = 0
    ready = [UInt8](repeating: 0, count: raw.count - extra)
    guard crypto_secretstream_xchacha20poly1305_pull(&state, &ready, nil, &tag, raw, UInt64(raw.count), nil, 0) == 0 else {
      ready = []
      throw BackupManifest.damaged("it is not as it was written")
    }
    self.state = state
    isFinal = tag == crypto_secretstream_xchacha20poly1305_tag_final()
    return !ready.isEmpty
  }

  /// Up to so many bytes, at least one.
  func read(atMost count: Int) throws -> ArraySlice<UInt8> {
    guard try next() else { throw Self.cut }
    let part = ready[place..<min(ready.count, place + count)]
    place = part.endIndex
    return part
  }

  /// Exactly so many bytes.
  func read(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += try read(atMost: count - bytes.count) }
    return bytes
  }

  /// Whether everything was read.
  var isAtEnd: Bool { get throws { try !next() } }
}
