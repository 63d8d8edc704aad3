import CFaultyCipher
import CTransportCipher
import Glibc
import Synchronization
import Testing
import WireGuardEngine

@testable import WireGuardDataPath

/// The libraries that may compute the cipher of transport messages.
@Suite(.serialized) struct CipherChoiceTests {
  /// Debian's, which `scripts/setup` installs where there are some for this architecture.
  static let libraries = CipherLibrary.allCases.filter { $0 != .libsodium && !LoadedCiphers(only: $0).isEmpty }

  @Test("each library gives libsodium's bytes at every length, rejects forged tags and decrypts in place", arguments: libraries)
  func sameBytes(library: CipherLibrary) {
    let trial = CipherTrial(count: 2048)
    for handle in LoadedCiphers(only: library).handles { #expect(trial.firstFault(of: handle) == nil) }
  }

  @Test(
    "a library with one wrong byte, that takes a forged message, or fails, at one length of 2,049, is found", arguments: [0, 1, 1424, 2048])
  func faults(length: Int) throws {
    for kind in [FAULTY_BYTE, FAULTY_TAG, FAULTY_END] {
      let faulty = CipherHandle(library: .libcrypto, pointer: try #require(faulty_cipher(length, kind)))
      #expect(CipherTrial(count: 2048).firstFault(of: faulty) == length)
    }
  }

  @Test("a library that fails within a message says so: nothing may encrypt it once more") func failure() throws {
    let faulty = try #require(faulty_cipher(100, FAULTY_END))
    let key = [UInt8](repeating: 7, count: 32)
    var room = [UInt8](repeating: 1, count: 64 + 100 + 16)
    let result = room.withUnsafeMutableBytes { $0.baseAddress.map { ctc_seal_with(faulty, $0.octets + 64, 100, 1, key) } }
    #expect(result == CTC_FAILED)
  }

  @Test("a library that is asked for by name is used, fastest or not, and named with its version", arguments: libraries)
  func askedFor(library: CipherLibrary) {
    defer { LoadedCiphers.reset() }
    let choice = LoadedCiphers(only: library).choose()
    #expect(choice.library == library && choice.description.hasPrefix(library.rawValue) && choice.rejections.isEmpty)
    #expect(Set(choice.durations.keys) == [library, .libsodium])
  }

  @Test("otherwise the fastest is used, and each other one is rejected with a reason") func fastest() {
    defer { LoadedCiphers.reset() }
    let choice = LoadedCiphers().choose()
    #expect(choice.durations.values.allSatisfy { choice.durations[choice.library] ?? .zero <= $0 || choice.library == .libsodium })
    let rejected = Set(choice.rejections.map(\.library))
    #expect(rejected.union([choice.library, .libsodium]) == Set(CipherLibrary.allCases) && !rejected.contains(choice.library))
  }

  @Test("a thread's first small messages do without a library, and large ones or many do not", arguments: [(100, 64), (1000, 0)])
  func firstMessages(length: Int, left: Int) throws {
    let faulty = try #require(faulty_cipher(length, FAULTY_END))
    ctc_choose(faulty)
    defer { LoadedCiphers.reset() }
    var count = 0
    // It has used none before.
    let thread = try ReadyThreads().begin("messages") {
      let key = [UInt8](repeating: 7, count: 32)
      var room = [UInt8](repeating: 1, count: 64 + length + 16)
      func result() -> ctc_result? { room.withUnsafeMutableBytes { $0.baseAddress.map { ctc_seal($0.octets + 64, length, 1, key) } } }
      while count <= left, result() == CTC_UNAVAILABLE { count += 1 }
    }
    pthread_join(thread, nil)
    #expect(count == left)
  }

  @Test("threads that wait run what they are given, others are started, and those that nothing is given to end")
  func readyThreads() throws {
    var threads: ReadyThreads? = try ReadyThreads(["first", "second"])
    let done = Mutex<Set<String>>([])
    let begun = try ["first", "third"].map { name in try threads?.begin(name) { done.withLock { _ = $0.insert(name) } } }
    for case let thread? in begun { pthread_join(thread, nil) }
    threads = nil
    #expect(done.withLock { $0 } == ["first", "third"] && threads == nil)
  }
}
