-- A shop: prices are computed, baskets are sorted, receipts are written.
module Main (main) where
import Data.List (foldl', sortBy)
import Data.Ord (comparing)
import qualified Data.Map.Strict as M

price :: Int -> Double
price n = foldl' (\s i -> s + sqrt (fromIntegral (n * i)) * 0.5) 0 [1 .. 600]
{-# NOINLINE price #-}

basket :: Int -> [(Int, Double)]
basket n = [((i * 7919) `mod` 1000, price (i + n)) | i <- [1 .. 200]]
{-# NOINLINE basket #-}

sortBasket :: [(Int, Double)] -> [(Int, Double)]
sortBasket = sortBy (comparing snd)
{-# NOINLINE sortBasket #-}

stock :: [(Int, Double)] -> M.Map Int Double
stock = foldl' (\m (k, v) -> M.insertWith (+) k v m) M.empty
{-# NOINLINE stock #-}

receipt :: M.Map Int Double -> String
receipt m = concatMap (\(k, v) -> show k ++ ": " ++ show v ++ "\n") (M.toList m)
{-# NOINLINE receipt #-}

sell :: Int -> Int
sell n = length (receipt (stock (sortBasket (basket n))))
{-# NOINLINE sell #-}

serve :: Int -> Int
serve 0 = 0
serve n = sell n + serve (n - 1)
{-# NOINLINE serve #-}

main :: IO ()
main = print (serve 300)
