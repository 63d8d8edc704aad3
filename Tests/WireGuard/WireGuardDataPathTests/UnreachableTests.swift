import Testing

@testable import WireGuardDataPath

@Suite("Host unreachable")
struct UnreachableTests {
  private func answer(_ packet: [UInt8]) -> [UInt8] {
    var answer = [UInt8](repeating: 0xee, count: Unreachable.largest)
    let length = packet.withUnsafeBytes { packet in
      answer.withUnsafeMutableBytes { answer in
        guard let from = packet.baseAddress, let to = answer.baseAddress else { return 0 }
        return Unreachable.write(about: from, packet.count, to: to)
      }
    }
    return Array(answer.prefix(length))
  }

  private func sum(_ bytes: some Collection<UInt8>) -> UInt16 {
    Array(bytes).withUnsafeBytes { $0.baseAddress.map { InternetChecksum.fold(InternetChecksum.sum($0, bytes.count)) } ?? 0 }
  }

  /// A UDP datagram, or what `change` makes of it.
  private func four(_ length: Int = 60, _ change: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
    var packet = [UInt8](repeating: 7, count: length)
    packet.replaceSubrange(
      0..<28,
      with: [
        0x45, 0, UInt8(length >> 8), UInt8(length & 255), 1, 2, 0x40, 0, 64, 17, 0, 0,
        10, 9, 0, 1, 10, 9, 0, 77, 0, 9, 0, 9, 0, 8, 0, 0,
      ])
    change(&packet)
    return packet
  }

  private func six(_ length: Int = 80, _ change: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
    var packet = [UInt8](repeating: 7, count: length)
    packet.replaceSubrange(0..<8, with: [0x60, 0, 0, 0, UInt8((length - 40) >> 8), UInt8((length - 40) & 255), 17, 64])
    packet.replaceSubrange(
      8..<40,
      with: [0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 0, count: 11) + [1] + [0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 0, count: 11) + [0x77]
    )
    change(&packet)
    return packet
  }

  @Test(
    "by ICMP, from the address that cannot be reached, with as much of the packet as 576 bytes hold", arguments: [28, 60, 548, 549, 1420])
  func version4(length: Int) {
    let packet = four(length)
    let found = answer(packet)
    #expect(found.count == 28 + min(length, 548))
    #expect(Int(found[2]) << 8 | Int(found[3]) == found.count && found[0] == 0x45 && found[9] == 1)
    #expect(Array(found[12..<20]) == [10, 9, 0, 77, 10, 9, 0, 1])
    #expect(found[20] == 3 && found[21] == 1)
    #expect(sum(found[..<20]) == 0xffff && sum(found[20...]) == 0xffff)
    #expect(found[28...].elementsEqual(packet.prefix(548)))
  }

  @Test("by ICMPv6, with as much of the packet as 1,280 bytes hold", arguments: [48, 80, 1232, 1233, 1420]) func version6(length: Int) {
    let packet = six(length)
    let found = answer(packet)
    #expect(found.count == 48 + min(length, 1232))
    #expect(Int(found[4]) << 8 | Int(found[5]) == found.count - 40 && found[0] == 0x60 && found[6] == 58)
    #expect(Array(found[8..<24]) == Array(packet[24..<40]) && Array(found[24..<40]) == Array(packet[8..<24]))
    #expect(found[40] == 1 && found[41] == 3)
    let pseudo = found[8..<40] + [0, 0, found[4], found[5], 0, 0, 0, 58] + found[40...]
    #expect(sum(pseudo) == 0xffff)
    #expect(found[48...].elementsEqual(packet.prefix(1232)))
  }

  @Test("not for errors, later fragments, broadcasts, multicasts, or what comes from no single host (RFC 1122, RFC 4443)") func none() {
    #expect(
      answer(
        four {
          $0[9] = 1; $0[20] = 3
        }
      ).isEmpty)
    #expect(
      !answer(
        four {
          $0[9] = 1; $0[20] = 8
        }
      ).isEmpty)
    #expect(answer(four { $0[7] = 1 }).isEmpty)
    #expect(!answer(four { $0[6] = 0x20 }).isEmpty)
    for (first, last) in [(224, 1), (239, 9), (255, 255), (127, 1), (0, 0)] {
      for place in [12, 16] {
        #expect(
          answer(
            four {
              $0[place] = UInt8(first); $0[place + 3] = UInt8(last)
            }
          ).isEmpty, "\(first) at \(place)")
      }
    }
    #expect(
      answer(
        six {
          $0[6] = 58; $0[40] = 1
        }
      ).isEmpty)
    #expect(
      !answer(
        six {
          $0[6] = 58; $0[40] = 128
        }
      ).isEmpty)
    #expect(answer(six { $0[24] = 0xff }).isEmpty && answer(six { $0[8] = 0xff }).isEmpty)
    #expect(answer(six { for i in 8..<24 { $0[i] = 0 } }).isEmpty)
    // Behind extension headers.
    #expect(
      answer(
        six {
          $0[6] = 0; $0[40] = 58; $0[41] = 0; $0[48] = 1
        }
      ).isEmpty)
    #expect(
      !answer(
        six {
          $0[6] = 0; $0[40] = 58; $0[41] = 0; $0[48] = 128
        }
      ).isEmpty)
    #expect(
      answer(
        six {
          $0[6] = 44; $0[40] = 17; $0[42] = 1; $0[43] = 0
        }
      ).isEmpty)
    #expect(
      !answer(
        six {
          $0[6] = 44; $0[40] = 17; $0[42] = 0; $0[43] = 1
        }
      ).isEmpty)
  }

  @Test("no damaged packet makes it read or write where it must not, or answer what is not whole") func damaged() {
    var state: UInt64 = 1
    func random() -> UInt8 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
    for round in 0..<20_000 {
      var packet = round % 2 == 0 ? four(28 + round % 100) : six(48 + round % 100)
      for _ in 0..<1 + Int(random()) % 6 { packet[Int(random()) % min(packet.count, 56)] = random() }
      packet.removeLast(Int(random()) % packet.count)
      let found = answer(packet)
      #expect(found.count <= 48 + packet.count)
    }
  }

  @Test("50 at once, and 1,000 a second") func limit() {
    var limit = AnswerLimit()
    let start: UInt64 = 5_000_000_000
    #expect((0..<200).count { _ in limit.takes(at: start) } == 50)
    #expect((0..<200).count { _ in limit.takes(at: start + 10_000_000) } == 10)
    let later = (1...1_000).count { limit.takes(at: start + 20_000_000_000 + $0 * 100_000) }
    #expect((148...151).contains(later), "\(later)")
  }
}
