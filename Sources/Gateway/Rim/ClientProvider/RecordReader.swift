internal import Glibc
internal import LinuxIO
internal import LoginProtocol
internal import NameServer
package import NetworkTypes

/// Asks one name server for a gateway's TLSA records, in a process of its own (`StrangersConnection`). By TCP (RFC 7766): an answer of any
/// length comes in one piece, and only a machine on the path can forge it.
///
/// Whether the name server's word on DNSSEC counts is not decided here, where its bytes are read: the caller knows whom it has asked.
package enum RecordReader {
  private static let port: UInt16 = 53
  private static let connectPatience = Duration.seconds(2)
  /// A name server that validates may have to ask for the keys of each zone above.
  private static let answerPatience = Duration.seconds(4)

  /// Prints the reading as a line; returns the exit status.
  package static func run(_ server: Endpoint, askedAt nameServer: IPAddress) -> Int32 {
    // Before the calls for it are given up.
    let output = FileDescriptor(owning: dup(STDOUT_FILENO))
    return (try? output.writeAll(Array((read(server, nameServer).line + "\n").utf8))) == nil ? 1 : 0
  }

  private static func read(_ server: Endpoint, _ nameServer: IPAddress) -> RecordReading {
    guard let name = PinRecord.name(for: server) else { return .failed("\(server.host) is no name that has such a record") }
    let question = TLSAMessage.question(name, id: UInt16.random(in: .min ... .max))
    do throws(StrangersConnection.Failure) {
      let connection = try StrangersConnection(
        to: Endpoint(host: .address(nameServer), port: port), within: connectPatience)
      return reading(of: try exchange(question, by: connection), from: nameServer)
    } catch {
      switch error {
      case .noAddress(let reason), .noConnection(let reason):
        return .failed("the name server \(nameServer) takes no connection by TCP: \(reason)")
      case .local(let error): return .failed(error.description)
      }
    }
  }

  /// `nil`: the connection ends without a whole answer to the question, or none comes in time.
  private static func exchange(
    _ question: [UInt8], by connection: StrangersConnection
  ) throws(StrangersConnection.Failure) -> TLSAMessage.Answer? {
    do throws(SystemError) {
      let end = Moment.now + answerPatience
      try connection.writeAll([UInt8(question.count >> 8), UInt8(question.count & 0xff)] + question)
      var received: [UInt8] = []
      while true {
        if received.count >= 2 {
          let length = Int(received[0]) << 8 | Int(received[1])
          if received.count >= 2 + length { return TLSAMessage.answer(Array(received[2..<2 + length]), to: question) }
        }
        guard let bytes = try connection.read(before: end), !bytes.isEmpty else { return nil }
        received += bytes
      }
    } catch {
      throw .noConnection(error.reason)
    }
  }

  private static func reading(of answer: TLSAMessage.Answer?, from nameServer: IPAddress) -> RecordReading {
    guard let answer else { return .failed("the name server \(nameServer) does not answer") }
    switch answer.code {
    case ResponseCode.noError, ResponseCode.noSuchName: break
    case ResponseCode.serverFailure:
      return .failed("the name server \(nameServer) reports a failure (SERVFAIL), as it does if a signature is wrong")
    default: return .failed("the name server \(nameServer) refuses the question (code \(answer.code))")
    }
    let pins = answer.records.compactMap {
      PinRecord.pin(usage: $0.usage, selector: $0.selector, matchingType: $0.matchingType, association: $0.association)
    }
    guard pins.count <= RecordReading.pinLimit else { return .failed("there are more than \(RecordReading.pinLimit) records") }
    return .answer(pins: pins, others: answer.records.count - pins.count, isAuthenticated: answer.isAuthenticated)
  }
}
