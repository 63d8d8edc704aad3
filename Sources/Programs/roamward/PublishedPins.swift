import LinuxIO
import LoginProtocol
import NetworkTypes
import Terminal

/// The pins that DNS has for a gateway, as far as they count.
enum PublishedPins {
  /// For all name servers together.
  private static let patience = Duration.seconds(8)
  private static let path = "/etc/resolv.conf"

  /// Asks for them. `onlyTrusted`: no name server is asked whose word on DNSSEC does not count.
  static func read(of server: Endpoint, onlyTrusted: Bool) -> SignedPins {
    guard let name = PinRecord.name(for: server) else { return .none(note: nil) }
    let text = (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let asked = AskedNameServers(resolvConf: text)
    if onlyTrusted, !asked.isTrusted { return .none(note: nil) }
    let line = ProgressLine()
    line.show("\(server): asking DNS for its pin")
    defer { line.clear() }
    let end = Moment.now + patience
    var found = SignedPins.none(note: nil)
    for address in asked.addresses {
      let reading = read(server, from: address, within: end - .now)
      found = SignedPins(reading, of: name, from: address, isTrusted: asked.isTrusted)
      if case .answer = reading { break }
    }
    return found
  }

  private static func read(_ server: Endpoint, from address: IPAddress, within limit: Duration) -> RecordReading {
    do throws(StrangersReading.Failure) {
      let bytes = try StrangersReading.bytes(
        ["--read-tlsa", server.description, address.description], within: limit, longest: RecordReading.lineLimit)
      return RecordReading(bytes) ?? .failed("roamward-provider prints no record")
    } catch {
      switch error {
      case .late: return .failed("the name server \(address) does not answer")
      case .impossible(let reason): return .failed(reason)
      }
    }
  }
}
