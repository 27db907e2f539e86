#!/bin/sh
# Prints the days until the TLS certificate of each host expires.
for host in "$@"; do
	case $host in *:*) address=$host ;; *) address=$host:443 ;; esac
	end=$(openssl s_client -connect "$address" -servername "${host%%:*}" </dev/null 2>/dev/null | openssl x509 -noout -enddate | cut -d= -f2)
	echo "$((($(date -d "$end" +%s) - $(date +%s)) / 86400)) $host"
done
