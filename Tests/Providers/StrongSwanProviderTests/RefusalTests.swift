import JSON
import ProviderCertificates
import ProviderProtocol
import SeededRandom
import StrongSwanProvider
import Testing

/// The meaning of a refusal without a reason, by the way of signing in and the certificate's dates.
@Suite struct RefusalTests {
  static let line = "received AUTHENTICATION_FAILED notify error"

  func refusal(_ options: JSON, _ credentials: [Word: String], at now: String) throws -> TunnelFailure {
    try IKEOptions(options) { credentials[$0].map { Array($0.utf8) } }.refusal(line: Self.line, at: now)
  }

  @Test(
    "a refused certificate that is not valid now is told with its date, another one as refused",
    arguments: [
      ("19990101000000", "certificate-not-yet-valid", "this machine's certificate is valid from 2000-01-02 on; check the clock"),
      (
        "20100101000000", "auth-failed",
        "the server refused this machine's certificate; correct the credentials `certificate` and `key`, or `remote-id`"
      ),
      ("20200304050606", "auth-failed", nil), ("20200304050607", "auth-failed", nil),
      (
        "20200304050608", "certificate-expired",
        "this machine's certificate expired on 2020-03-04; renew the credential `certificate`"
      ),
    ] as [(String, Word, String?)])
  func certificate(now: String, code: Word, text: String?) throws {
    let failure = try refusal(["server": "vpn.example"], ["ca": expired, "certificate": expired, "key": "KEY"], at: now)
    #expect(failure.code == code && failure.help == .person)
    if let text { #expect(failure.text == "\(text) (\(Self.line))") }
  }

  @Test("the credential to correct is that of the way of signing in") func logins() throws {
    let now = "20300101000000"
    #expect(try refusal(["server": "vpn.example"], ["psk": "a"], at: now).text.contains("this machine's key; correct the credential `psk`"))
    let user = try refusal(["server": "vpn.example", "username": "alice"], ["ca": expired, "password": "a"], at: now)
    #expect(user.text.contains("this user; correct `username`") && user.code == "auth-failed")
    // A file that is no certificate has no dates.
    #expect(try refusal(["server": "vpn.example"], ["ca": expired, "certificate": "-", "key": "-"], at: now).code == "auth-failed")
  }

  @Test("dates are read of PEM and DER, in both forms of time, and with text around them") func dates() throws {
    let both = try #require(CertificateValidity(of: Array(early.utf8)))
    #expect(both.start == "20900102000000" && both.end == "20990304050607")
    let short = try #require(CertificateValidity(of: Array(("Certificate:\n  of alice\n" + expired.replacing("\n", with: "\r\n")).utf8)))
    #expect(short.start == "20000102000000" && short.end == "20200304050607")
    #expect(CertificateValidity(of: der) == short)
    #expect(both.told(as: "it") == Validity("it", from: 3_786_998_400, until: 4_076_283_967))
    for length in 0..<100 { #expect(CertificateValidity(of: Array(der[..<length])) == nil) }
  }

  @Test("any bytes are read") func total() {
    var random = SplitMix64(seed: 5280)
    for _ in 0..<20_000 {
      var bytes = der
      for _ in 0...Int(random.next() % 4) { bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next()) }
      if let read = CertificateValidity(of: bytes) { #expect(read.start.count == 14 && read.end.count == 14) }
    }
  }
}

private let expired = """
  -----BEGIN CERTIFICATE-----
  MIHLMH+gAwIBAgIBATAFBgMrZXAwEDEOMAwGA1UEAwwFYWxpY2UwHhcNMDAwMTAy
  MDAwMDAwWhcNMjAwMzA0MDUwNjA3WjAQMQ4wDAYDVQQDDAVhbGljZTAqMAUGAytl
  cAMhADcFj4t1Pzq6VmgH9NdYTyU3YUbllfhYp7JnLnzz1UtzMAUGAytlcANBAEZu
  Y+S0swvoVwEjJfA1i7Hoj/XRoXUoLm9YllUbJ7DFMdms0+lx7Da3aUG/GVzI5m18
  IRbhHHmoMC9/NEIKuQM=
  -----END CERTIFICATE-----

  """

private let early = """
  -----BEGIN CERTIFICATE-----
  MIHQMIGDoAMCAQICAQEwBQYDK2VwMBAxDjAMBgNVBAMMBWFsaWNlMCIYDzIwOTAw
  MTAyMDAwMDAwWhgPMjA5OTAzMDQwNTA2MDdaMBAxDjAMBgNVBAMMBWFsaWNlMCow
  BQYDK2VwAyEANwWPi3U/OrpWaAf011hPJTdhRuWV+FinsmcufPPVS3MwBQYDK2Vw
  A0EAZjVt7kkn/L1oXJG1jiNE6u0ydPuq+3SWmRQISHKkNVz6KX/eP9etluJOd7k/
  yegbBY/JHS3xBQi/pnNQ2fkqCA==
  -----END CERTIFICATE-----

  """

/// `expired` in DER.
private let der: [UInt8] = [
  0x30, 0x81, 0xcb, 0x30, 0x7f, 0xa0, 0x03, 0x02, 0x01, 0x02, 0x02, 0x01, 0x01, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70,
  0x30, 0x10, 0x31, 0x0e, 0x30, 0x0c, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, 0x05, 0x61, 0x6c, 0x69, 0x63, 0x65, 0x30, 0x1e,
  0x17, 0x0d, 0x30, 0x30, 0x30, 0x31, 0x30, 0x32, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x5a, 0x17, 0x0d, 0x32, 0x30, 0x30,
  0x33, 0x30, 0x34, 0x30, 0x35, 0x30, 0x36, 0x30, 0x37, 0x5a, 0x30, 0x10, 0x31, 0x0e, 0x30, 0x0c, 0x06, 0x03, 0x55, 0x04,
  0x03, 0x0c, 0x05, 0x61, 0x6c, 0x69, 0x63, 0x65, 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
  0x37, 0x05, 0x8f, 0x8b, 0x75, 0x3f, 0x3a, 0xba, 0x56, 0x68, 0x07, 0xf4, 0xd7, 0x58, 0x4f, 0x25, 0x37, 0x61, 0x46, 0xe5,
  0x95, 0xf8, 0x58, 0xa7, 0xb2, 0x67, 0x2e, 0x7c, 0xf3, 0xd5, 0x4b, 0x73, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03,
  0x41, 0x00, 0x46, 0x6e, 0x63, 0xe4, 0xb4, 0xb3, 0x0b, 0xe8, 0x57, 0x01, 0x23, 0x25, 0xf0, 0x35, 0x8b, 0xb1, 0xe8, 0x8f,
  0xf5, 0xd1, 0xa1, 0x75, 0x28, 0x2e, 0x6f, 0x58, 0x96, 0x55, 0x1b, 0x27, 0xb0, 0xc5, 0x31, 0xd9, 0xac, 0xd3, 0xe9, 0x71,
  0xec, 0x36, 0xb7, 0x69, 0x41, 0xbf, 0x19, 0x5c, 0xc8, 0xe6, 0x6d, 0x7c, 0x21, 0x16, 0xe1, 0x1c, 0x79, 0xa8, 0x30, 0x2f,
  0x7f, 0x34, 0x42, 0x0a, 0xb9, 0x03,
]
