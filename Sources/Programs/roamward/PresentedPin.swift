import LoginProtocol
import NetworkTypes
import Terminal

/// The pin that a gateway shows.
enum PresentedPin {
  /// More than the look takes with name servers that do not answer.
  private static let limit = Duration.seconds(60)

  /// Reads it. A failure says what is wrong, and the way without a look.
  static func read(of server: Endpoint) throws -> GatewayPin {
    let line = ProgressLine()
    line.show("\(server): asking for its pin")
    let reading = read(server)
    line.clear()
    let trouble: String
    switch reading {
    case .pin(let pin): return pin
    case .noAddress(let text): trouble = "\(server.host) has no address: \(text); check the name and the network"
    case .noConnection(let text):
      trouble =
        "\(server) takes no connection by TCP: \(text); check the port and the network: `roamward-gateway login show` says where"
        + " the gateway takes logins"
    case .noTLS: trouble = "\(server) does not speak TLS 1.3, as a gateway's logins do; check the port"
    case .failed(let text): trouble = "the pin of \(server) cannot be read: \(text)"
    }
    throw Failure.refused("\(trouble)\n  help: with the pin of the gateway's administrator, no look is needed: --pin PIN")
  }

  private static func read(_ server: Endpoint) -> PinReading {
    do throws(StrangersReading.Failure) {
      let bytes = try StrangersReading.bytes(["--read-pin", server.description], within: limit, longest: PinReading.lineLimit)
      return PinReading(bytes) ?? .failed("roamward-provider prints no pin")
    } catch {
      switch error {
      case .late: return .noConnection("there is no answer")
      case .impossible(let reason): return .failed(reason)
      }
    }
  }
}
