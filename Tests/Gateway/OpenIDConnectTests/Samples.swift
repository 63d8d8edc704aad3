import GatewayCore
import GatewayLogin
import JSON
import NetworkTypes
import OpenIDConnect
import Testing

extension Moment {
  static func seconds(_ count: Double) -> Moment { Moment(nanoseconds: UInt64(count * 1e9)) }
}

let issuer = "https://login.example.com/realms/corp"

func sampleSettings() throws -> OpenIDSettings {
  var settings = OpenIDSettings(issuer: issuer, clientID: "roamward")
  let staff = try #require(GatewayName("staff"))
  let admins = try #require(GatewayName("admins"))
  settings.groups = [.init(group: staff, value: "Engineering"), .init(group: admins, value: "VPN admins")]
  return settings
}

func sampleClient(secret: String? = "secret") throws -> OpenIDClient {
  OpenIDClient(try sampleSettings(), secret: secret, authorities: nil)
}

/// A JSON document as a response.
func response(_ json: JSON, status: Int = 200) -> ProviderResponse { .response(status: status, body: Array(json.text().utf8)) }

extension JSON {
  func with(_ key: String, _ value: JSON?) -> JSON {
    var members = (members ?? []).filter { $0.key != key }
    if let value { members.append(.init(key: key, value: value)) }
    return .object(members)
  }
}
