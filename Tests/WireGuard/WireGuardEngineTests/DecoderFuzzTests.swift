import CCipherLibraries
import CTransportCipher
import Glibc
import NetworkTypes
import SeededRandom
import Testing

@testable import WireGuardEngine

private let datagrams = getenv("DATAGRAM_FUZZ").flatMap { Int(String(cString: $0)) } ?? 60_000

/// Datagrams that anybody on the way may send: 60,000, or DATAGRAM_FUZZ of them.
@Suite(.serialized) struct DecoderFuzzTests {
  /// The libraries that may open them; `nil`: libsodium.
  private static func library(_ name: String) -> UnsafePointer<ctc_library>? {
    var reason: UnsafePointer<CChar>?
    return switch name {
    case "libipsec-mb": ccl_has_avx512() ? ccl_load_ipsec_mb(&reason) : nil
    case "boringssl": ccl_load_boringssl(&reason)
    case "libcrypto": ccl_load_libcrypto(&reason)
    default: nil
    }
  }

  /// Gives the number of datagrams that were taken for something other than nothing or a handshake message.
  static func run(_ count: Int, seed: UInt64) -> (accepted: Int, engine: Engine) {
    var random = SplitMix64(seed: seed)
    let pair = Pair()
    pair.connect()
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 121)
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.1)
    // All four kinds, each right once.
    var corpus = pair.a.sent + pair.b.sent
    var secret = CookieSecret()
    corpus.append(
      pair.a.sent[0].withUnsafeBytes {
        secret.reply(to: $0, from: pair.a.address, macs: MessageMACs(receiver: pair.b.publicKey), at: 1, entropy: .system)
      })
    corpus.append(signedNoise(for: pair.b))
    let engine = pair.b.engine
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 48 + 2_048 + 512, alignment: 16)
    let plaintext = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 + 2_048 + 512, alignment: 16)
    defer {
      room.deallocate()
      plaintext.deallocate()
    }
    let indices = Array(engine.owners.keys)
    let macs = MessageMACs(receiver: pair.b.publicKey)
    let now = pair.network.now
    var accepted = 0
    var effects: [EngineEffect] = []
    var done = 0
    while done < count {
      let batch = min(64, count - done)
      var handshakes: [[UInt8]] = []
      _ = engine.receive(at: now + .microseconds(done)) { section in
        for _ in 0..<batch {
          let base = corpus[Int(random.next() % UInt64(corpus.count))]
          var length = base.count
          room[48..<48 + length].copyBytes(from: base)
          let record = UnsafeMutableRawBufferPointer(rebasing: room[48..<48 + 2_048])
          switch random.next() % 5 {
          case 0:
            length = Int(random.next() % 2_048)
            for i in stride(from: 0, to: length, by: 8) { record.storeBytes(of: random.next(), toByteOffset: i, as: UInt64.self) }
            if length > 4, random.chance(0.8) { record.setWord(UInt32(random.next() % 6), at: 0) }
            if length >= 8, random.chance(0.8) { record.setWord(indices[Int(random.next() % UInt64(indices.count))], at: 4) }
          case 1: length = Int(random.next() % UInt64(length + 1))
          case 2: length = min(2_048, length + Int(random.next() % 64))
          default:
            for _ in 0...(random.next() % 4) { record[Int(random.next() % UInt64(length))] ^= 1 << UInt8(random.next() % 8) }
            // Past the first check, now and then.
            if length == 148, random.chance(0.01) { _ = macs.sign(UnsafeMutableRawBufferPointer(rebasing: record[..<148]), cookie: nil) }
          }
          switch section.open(record.address(0), count: length, from: pair.a.address, into: plaintext.address(64)) {
          case .handshake: handshakes.append(Array(record[..<length]))
          case .packet, .keepalive: accepted += 1
          case .dropped: break
          }
        }
      }
      let time = SimulatedNode.time(now + .microseconds(done))
      for message in handshakes {
        _ = message.withUnsafeBytes { engine.receiveHandshake($0, from: pair.a.address, at: time, effects: &effects) }
      }
      effects.removeAll(keepingCapacity: true)
      done += batch
    }
    return (accepted, engine)
  }

  @Test(
    "random and mutated datagrams: none is taken for a packet, whatever library opens it",
    arguments: ["libsodium", "libcrypto", "boringssl", "libipsec-mb"])
  func random(cipher: String) {
    let library = Self.library(cipher)
    guard library != nil || cipher == "libsodium" else { return print("not run: \(cipher) does not work on this machine") }
    ctc_choose(library)
    defer { ctc_choose(nil) }
    let (accepted, engine) = Self.run(datagrams, seed: 11)
    #expect(accepted == 0)
    let drops = engine.drops
    #expect(drops.malformed > 1_000 && drops.unknownIndex > 100 && drops.wrongMAC > 1_000)
    #expect(drops.unauthentic + drops.replayed + drops.expired > 1_000 && drops.overLoad + drops.refusedHandshakes > 10)
  }
}
