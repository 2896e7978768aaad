# cause: starting-programs
# expr is started for each addition.
sum=0
add_up() { sum=$(expr $sum + $1); }
for i in $(seq 700); do add_up $i; done
echo $sum
